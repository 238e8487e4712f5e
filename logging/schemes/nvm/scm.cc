// `scm`: the log lies in storage-class memory, and its workers persist their records in place. The
// scheme is Fang et al.'s, as ELEDA describes it and compares with it (2.3.1, 6.4.3).
//
// LSN by fetch-add; the hole lies in the mapped log. publish() writes the record's cache lines
// back, fences, and only then counts the record as filled. The log is durable up to the first hole.
//
// A commit is safe when its record *and all records before it* are persistent. Its record alone is
// not enough: with early lock release transaction T may have read from transaction D whose hole is
// not filled yet, and T would survive without D (R1, R4). All records that T depends on lie before
// T's record (single_stream_scheme.h). For the same reason recovery stops at the first hole. Fang
// et al. find records after holes by scanning. This is right only if locks are kept until the
// record is persistent, and a scheme does not know --locks.
//
// --ack=unsafe acknowledges as Fang et al. do, when the transaction's own record is persistent.
// Then no worker looks at the holes of other workers. But our recovery stops at the first hole, and
// loses acknowledged transactions after this hole.
//
// Bytes of an earlier run stay in the holes of a recycled file. These bytes fail their checks,
// because the run seeds the checksums, and one run uses each position once.
//
// Protocol. When a thread has filled a hole, has replaced a stale bound, or needs to know how far
// the log is filled, it fences, and then raises durable_ (release). If several threads do so, the
// last of them sees the stores of all. A thread that has raised durable_ wakes the waiters.
#include <cstring>

#include "logging/device/device.h"
#include "logging/format/log_file.h"
#include "logging/scheme_registry.h"
#include "logging/schemes/common/scheme_flags.h"
#include "logging/schemes/common/worker_states.h"
#include "logging/schemes/nvm/open_holes.h"
#include "platform/fatal.h"
#include "platform/test_value.h"

namespace logjam {
namespace {

const platform::TestValue stale_bounds("scm_stale_bounds");

class Scm final : public LogScheme {
 public:
  explicit Scm(const LogConfig& config)
      : LogScheme(config),
        unsafe_(acknowledges_unsafely()),
        memory_(config.devices[0]->memory()),
        open_holes_(config.workers, stale_bounds.get() != 0),
        persisted_(config.workers),
        max_record_bytes_(config.buffer_bytes) {
    if (memory_ == nullptr) platform::refuse("--log=scm needs one log directory on --device=nvm");
  }

  LogReservation reserve(uint32_t worker, const Dependencies&, uint32_t bytes) override {
    const auto [begin, others_may_wait] = open_holes_.reserve(worker, bytes);
    if (others_may_wait && !unsafe_) advance();
    return {.sequence = begin + bytes,
            .position = begin,
            .durable = durable_.load(platform::memory_order_acquire),
            .hole = memory_->mapped(kLogHeaderBytes + begin, bytes),
            .bytes = bytes,
            .stream = 0};
  }

  CommitPoint publish(uint32_t worker, const LogReservation& reservation, RecordRole) override {
    // If the power has failed, the reservation stays a hole.
    if (memory_->persist({reservation.hole, reservation.bytes})) {
      persisted_[worker].persists.add();
      persisted_[worker].bytes.add(reservation.bytes);
      open_holes_.filled(worker);
      if (unsafe_) return {};
      advance();
    }
    return CommitPoint::in_stream(0, reservation.sequence);
  }

  CommitPoint commit_read_only(uint32_t, const Dependencies& deps) override {
    return unsafe_ ? CommitPoint{} : CommitPoint::in_stream(0, deps.max_read);
  }

  bool is_durable(const CommitPoint& point) const override {
    return point.sequence <= durable_.load(platform::memory_order_acquire);
  }
  void poll(uint32_t) override {}
  uint32_t flushers() const override { return 0; }
  void flush(uint32_t, bool) override LJ_REQUIRES(platform::log_role) {}
  bool idle() const override { return open_holes_.look() == open_holes_.reserved(); }

  // Writes zeros after the last record, so that recovery finds no bytes of an earlier run there.
  void close() override {
    if (!idle()) return;
    std::byte* end = memory_->mapped(kLogHeaderBytes + open_holes_.reserved(), kLogEndBytes);
    std::memset(end, 0, kLogEndBytes);
    [[maybe_unused]] const bool persisted = memory_->persist({end, kLogEndBytes});
  }

  // Returns the same limit as other schemes, although no buffer bounds a record here.
  uint64_t max_record_bytes() const override { return max_record_bytes_; }

  std::vector<uint64_t> durable_positions() const override {
    return {durable_.load(platform::memory_order_acquire)};
  }
  std::vector<uint64_t> durable_sequences() const override { return durable_positions(); }
  std::vector<uint64_t> published_positions() override {
    advance();
    return durable_positions();
  }
  Counters counters() const override {
    const double persists = persisted_.total(&Persisted::persists);
    return {{"flushes", persists},
            {"flush_bytes_mean", persisted_.total(&Persisted::bytes), persists}};
  }

 private:
  static constexpr uint64_t kLogEndBytes = 64;

  struct Persisted {
    platform::Counter persists, bytes;
  };

  void advance() {
    platform::full_fence();
    if (platform::atomic_max(durable_, open_holes_.look(), platform::memory_order_release)) {
      waiters().wake_durable();
    }
  }

  const bool unsafe_;
  PersistentMemory* const memory_;
  OpenHoles open_holes_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> durable_{0};
  WorkerStates<Persisted> persisted_;
  const uint64_t max_record_bytes_;
};

const SchemeRegistration registration({
    .name = "scm",
    .differs = "without --ack=unsafe, commits in order; recovery stops at the first hole, where "
               "the paper looks for records after it; made from what ELEDA says of it",
    .streams = "1, on NVM",
    .buffer = "none: fetch-add, filled and persisted in place",
    .sequence = "byte offset (LSN), fetch-add",
    .flushed_by = "each worker its own records",
    .safe_when = "own record and all before it persistent",
    .cut = "first gap",
    .source = "Fang et al., ELEDA 6.4.3",
    .traits = {.in_place = true},
    .recovery = first_gap(),
    .stream_count = one_stream,
    .construct = construct<Scm>,
    .check_flags = check_ack_flag,
    .unsafe = unsafe_ack_flag,
    .flags = {"ack"},
});

}  // namespace
}  // namespace logjam
