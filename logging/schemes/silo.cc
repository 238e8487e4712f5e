// `silo`: there is no order within an epoch, and all transactions of an epoch become durable or
// none does (Tu et al. 2013, section 4; Zheng et al. 2014; compared in Poplar, section 3.3).
// Workers are dealt to loggers in turn, with one logger for each device. The private buffer of a
// worker is a chunk of its logger's ring (logging/buffer/buffer_chunks.h). When the chunk is handed
// over, its unused rest becomes padding.
//
// Sequence number (TID). The upper bits are the epoch, the lower bits a count. The TID is larger
// than the numbers of what is read and what is overwritten, and than this worker's last TID. It
// must be drawn before OCC validates. Let U overwrite what T has read. Then U locks, and hence
// draws, after T's validation, so U's epoch is not smaller than T's. Hence every prefix of epochs
// is a prefix of the serial order.
//
// Flushing. Full buffers are handed over at once. A separate thread, the epoch thread, ends an
// epoch every --epoch_ms. When epoch e has ended, a logger writes a watermark record of e, and
// takes the buffers before it from the workers that are not using theirs. The watermark record is
// durable only when all records before it are. Before it lies every buffer that can have a
// reservation of e, because a worker has its buffer when it reads the epoch.
//
// Safe when. The persisted epoch is the least, over all loggers, of the last durable watermark; it
// is on disk with the watermark records. A transaction is safe when its epoch is persisted: what it
// has read from has no larger epoch. Cut: the least, over all streams, of the last watermark. Up to
// the cut no record is missing in any stream, so the set is closed (R4).
//
// Idle or blocked workers stall no epoch: a logger takes their buffers, and idle loggers write
// watermark records (as long as some stream has an epoch without one). A worker that is descheduled
// between reserve and publish stalls its logger, its epoch, and later epochs.
//
// Protocol.
//   epoch_       advanced by the epoch thread. A worker loads epoch_ after it got its buffer under
//                the latch. A logger loads epoch_ before it places the watermark record under the
//                latch. So a worker that gets a buffer behind the watermark of e loads a larger
//                epoch than e.
//   watermark    the last epoch with a watermark record. It is stored (release) under the latch of
//                the logger's chunks, when the watermark record has its place.
//   wanted_      the largest epoch with a reservation. It is raised before a worker can wait for
//                it.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>

#include "logging/buffer/buffer_chunks.h"
#include "logging/flag_checks.h"
#include "logging/scheme_bases/multi_stream_scheme.h"
#include "logging/scheme_registry.h"
#include "logging/stream/wanted_watermark.h"
#include "platform/clock.h"

DEFINE_double(epoch_ms, 40, "silo: how long an epoch lasts");

namespace logjam {
namespace {

using platform::memory_order_acquire;
using platform::memory_order_relaxed;
using platform::memory_order_release;

constexpr uint32_t kCountBits = 32;
constexpr uint64_t epoch_of(uint64_t tid) { return tid >> kCountBits; }
constexpr uint64_t first_tid(uint64_t epoch) { return epoch << kCountBits; }
constexpr uint64_t last_tid(uint64_t epoch) { return first_tid(epoch + 1) - 1; }

class Silo final : public MultiStreamScheme {
 public:
  explicit Silo(const LogConfig& config)
      : MultiStreamScheme(config),
        epoch_ticks_(platform::ns_to_ticks(FLAGS_epoch_ms * 1e6)),
        workers_(config.workers) {
    const uint32_t owners = config.workers / streams();
    for (uint32_t s = 0; s < streams(); ++s) {
      loggers_.push_back(std::make_unique<Logger>(stream(s), config.run, owners));
    }
  }

  LogReservation reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    WorkerState& me = workers_[worker];
    const uint32_t index = home(worker);
    const uint64_t begin = loggers_[index]->chunks.reserve(me.buffer, worker, bytes);
    me.last_tid = std::max({me.last_tid, deps.max_read, deps.max_overwritten}) + 1;
    me.last_tid = std::max(me.last_tid, first_tid(epoch_.load()));
    return reservation(index, begin, bytes, me.last_tid);
  }

  CommitPoint publish(uint32_t worker, const LogReservation& reservation, bool,
                      bool commits) override {
    wanted_.raise(0, epoch_of(reservation.sequence));
    loggers_[reservation.stream]->chunks.publish(workers_[worker].buffer, reservation.bytes);
    stream(reservation.stream).published(commits);
    return CommitPoint::in_every_stream(reservation.sequence);
  }

  CommitPoint commit_read_only(uint32_t, const Dependencies& deps) override {
    return CommitPoint::in_every_stream(deps.max_read);
  }

  uint32_t flushers() const override { return streams() + 1; }
  void flush(uint32_t flusher, bool stopping) override {
    if (flusher < streams()) return MultiStreamScheme::flush(flusher, stopping);
    const uint64_t now = platform::ticks();
    if (epoch_end_ == 0) epoch_end_ = now + epoch_ticks_;
    if (now < epoch_end_ && !(stopping && watermark_behind())) {
      const auto left = static_cast<uint64_t>(platform::ticks_to_ns(epoch_end_ - now));
      return platform::sleep_ns(std::min(stopping ? kStoppingNs : kLongestNs, left));
    }
    epoch_end_ = now + epoch_ticks_;
    const uint64_t ended = epoch_.fetch_add(1);
    VLOG(2) << "epoch " << ended << " ended";
    platform::full_fence();
    notify_flushers_behind(wanted_.wanted(), [&](uint32_t s) {
      return loggers_[s]->watermark.load(memory_order_relaxed);
    });
  }

  bool idle() const override { return !watermark_behind() && MultiStreamScheme::idle(); }

 private:
  static constexpr uint64_t kLongestNs = 10'000'000, kStoppingNs = 100'000;

  struct WorkerState {
    ChunkOwner buffer;
    uint64_t last_tid = 0;
  };
  struct Logger {
    Logger(Stream& stream, uint64_t run, uint32_t owners) : chunks(stream, run, owners) {}

    BufferChunks chunks;
    platform::atomic<uint64_t> watermark{0};
  };

  bool watermark_behind() const {
    return std::ranges::any_of(loggers_, [&](const auto& logger) {
      return logger->watermark.load(memory_order_acquire) < wanted_.wanted();
    });
  }
  bool watermark_due(const Logger& logger) const {
    const uint64_t watermark = logger.watermark.load(memory_order_relaxed);
    return watermark < wanted_.wanted() && watermark < ended_epoch();
  }
  uint64_t ended_epoch() const { return epoch_.load(memory_order_acquire) - 1; }

  uint64_t filled(uint32_t index) override {
    Logger& logger = *loggers_[index];
    const bool due = watermark_due(logger);
    if (due || logger.chunks.pass_due()) {
      logger.chunks.latch().lock();
      if (due) advance_watermark(logger);
      // If a watermark record is still due, the ring had no room for it. Then the workers that wait
      // for their epoch would wait for ever if open chunks stayed in the way.
      logger.chunks.pass(
          watermark_due(logger),
          [&](uint32_t worker) -> ChunkOwner& { return workers_[worker].buffer; },
          [&](const BufferChunk& chunk) {
            if (chunk.watermark != 0) record_durable_sequence(index, chunk.end, chunk.watermark);
          });
      logger.chunks.latch().unlock();
    }
    return logger.chunks.filled();
  }

  // Called under the latch: writes a watermark record of the last epoch that has ended.
  void advance_watermark(Logger& logger) {
    const uint64_t ended = ended_epoch();
    if (logger.watermark.load(memory_order_relaxed) >= ended) return;
    if (!logger.chunks.append_watermark(last_tid(ended))) return;
    logger.watermark.store(ended, memory_order_release);
    count_watermark();
  }

  const uint64_t epoch_ticks_;
  WorkerStates<WorkerState> workers_;
  std::vector<std::unique_ptr<Logger>> loggers_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> epoch_{1};
  WantedWatermark wanted_{1};
  uint64_t epoch_end_ = 0;  // when this epoch ends, in ticks; only the epoch thread uses it
};

const SchemeRegistration registration({
    .name = "silo",
    .streams = "1 per device",
    .buffer = "private, handed to its logger",
    .sequence = "epoch, count: over reads, overwrites",
    .flushed_by = "logger each, leader",
    .safe_when = "epoch <= persisted epoch",
    .cut = "persisted epoch",
    .source = "Silo; Poplar 3.3",
    .traits = {.sequence_before_validation = true},
    .recovery = min_cut(&StreamTail::last_watermark, "persisted epoch up to TID"),
    .stream_count = stream_per_directory,
    .construct = construct<Silo>,
    .check_flags = [] { return check_range("epoch_ms", FLAGS_epoch_ms, 0.1, 10'000); },
});

}  // namespace
}  // namespace logjam
