// `scm`: the log lies in storage-class memory, and its workers persist their records in place. Fang
// et al., as ELEDA describes it and compares with it (2.3.1, 6.4.3).
//
// LSN by fetch-add; the hole is the mapped log itself. publish() writes the record's cache lines
// back, fences, and only then counts it as filled. There is no buffer to be full, no flusher, and
// no flush policy: the watermark "filled without a hole" is the durable one.
//
// A commit is safe when its own record *and all before it* are persistent. Its own is not enough:
// with early lock release it may have read from a transaction whose hole is not filled yet, and
// would survive that (R1, R4). All it depends on lies before it (LsnScheme), so all before it is
// enough. For the same reason recovery stops at the first hole. The records behind are intact, each
// proves itself with its position; but what they have read may be what is missing. Fang et al.
// tolerate holes, and find them by scanning, because nobody can have read from a transaction whose
// record is still in the making when locks are kept until it is persistent. A scheme is not told
// whether they are (--elr), and none of those records was acknowledged.
//
// Bytes of an earlier run stay in the holes of a recycled file and do not validate: checksums are
// seeded by the run, and one run uses each position once.
//
// A worker that is descheduled between reserve and publish holds up the acknowledgement of all
// later records, and nothing else: the others go on reserving, filling and persisting. Nobody who
// only advances the watermark can hold it up, for nobody owns it.
//
// Protocol. durable_ is raised (release) by whoever has filled a hole, or given up a stale bound,
// after a fence: of those that do so at the same time the last one sees all (InFlight). Who raises
// it wakes the waiters.
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "logging/buffer/in_flight.h"
#include "logging/device/device.h"
#include "logging/log_file.h"
#include "logging/schemes/lsn_scheme.h"
#include "platform/fatal.h"

namespace logjam {
namespace {

class Scm final : public LsnScheme {
 public:
  explicit Scm(const LogConfig& config)
      : LsnScheme(config.workers),
        in_flight_(config.workers, config.force_stale_bounds),
        persisted_(config.workers),
        max_record_bytes_(config.buffer_bytes),
        safety_timeout_ns_(config.safety_timeout_ns) {
    if (config.devices.empty()) return;
    memory_ = config.devices[0]->memory();
    if (memory_ == nullptr) platform::refuse("--log=scm needs one log directory on --device=nvm");
  }

  Traits traits() const override { return {.flushers = 0, .unsafe = ""}; }

  Ticket reserve(uint32_t worker, const Dependencies&, uint32_t bytes) override {
    const auto [begin, others_may_wait] = in_flight_.reserve(worker, bytes);
    if (others_may_wait) advance();
    return ticket(begin, bytes, memory_->mapped(kLogHeaderBytes + begin, bytes));
  }

  Point publish(uint32_t worker, const Ticket& ticket, bool, bool) override {
    // If the power is gone, it stays a hole.
    if (memory_->persist({ticket.hole, ticket.bytes})) {
      persisted_[worker]->count(ticket.bytes);
      in_flight_.filled(worker);
      advance();
    }
    return {.sequence = ticket.sequence, .stream = 0};
  }

  bool is_durable(const Point& point) const override {
    return point.sequence <= durable_.load(platform::memory_order_acquire);
  }
  void wait_durable(uint32_t worker, const Point& point) override {
    while (!is_durable(point)) park_waiter(worker, point, safety_timeout_ns_);
  }
  void tick(uint32_t) override {}
  void flush(uint32_t, bool) override {}
  bool idle() const override {
    return durable_.load(platform::memory_order_acquire) == in_flight_.reserved();
  }

  // Zeros behind the last record, so that the reader finds a clean end and not an earlier run's
  // bytes.
  void close() override {
    if (memory_ == nullptr || !idle()) return;
    std::byte* end = memory_->mapped(kLogHeaderBytes + in_flight_.reserved(), kEndMarkBytes);
    std::memset(end, 0, kEndMarkBytes);
    [[maybe_unused]] const bool marked = memory_->persist({end, kEndMarkBytes});
  }

  // Nothing here bounds it; the buffer that others have does, so that all take the same records.
  uint64_t max_record_bytes() const override { return max_record_bytes_; }

  Counters counters() const override {
    double persists = 0, bytes = 0;
    for (const auto& worker : persisted_) {
      persists += static_cast<double>(worker->persists.load(platform::memory_order_relaxed));
      bytes += static_cast<double>(worker->bytes.load(platform::memory_order_relaxed));
    }
    return {{"flushes", persists}, {"flush_bytes", bytes}};
  }

 private:
  static constexpr uint64_t kEndMarkBytes = 64;

  struct Persisted {  // by one worker, read at any time
    platform::atomic<uint64_t> persists{0}, bytes{0};
    void count(uint64_t more) {
      persists.store(persists.load(platform::memory_order_relaxed) + 1,
                     platform::memory_order_relaxed);
      bytes.store(bytes.load(platform::memory_order_relaxed) + more,
                  platform::memory_order_relaxed);
    }
  };

  void advance() {
    platform::full_fence();
    const uint64_t filled = in_flight_.look();
    uint64_t durable = durable_.load(platform::memory_order_relaxed);
    while (durable < filled) {
      if (durable_.compare_exchange_weak(durable, filled, platform::memory_order_release)) {
        return wake_waiters();
      }
    }
  }

  PersistentMemory* memory_ = nullptr;  // none when recovering
  InFlight in_flight_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> durable_{0};
  std::vector<platform::Padded<Persisted>> persisted_;
  const uint64_t max_record_bytes_;
  const uint64_t safety_timeout_ns_;
};

const SchemeRegistration registration({
    .name = "scm",
    .streams = "1, on NVM",
    .buffer = "none: fetch-add, filled and persisted in place",
    .sequence = "byte offset (LSN), fetch-add",
    .flushed_by = "each worker its own records",
    .safe_when = "own record and all before it persistent",
    .cut = "first gap",
    .source = "Fang et al., ELEDA 6.4.3",
    .in_place = true,
    .stream_count = [](uint32_t, const LogConfig&) { return 1u; },
    .make = [](const LogConfig& config) { return std::make_unique<Scm>(config); },
});

}  // namespace
}  // namespace logjam
