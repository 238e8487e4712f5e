// `silo`: transactions of an epoch have no order, and either all or none of them become durable (Tu
// et al. 2013, section 4; Zheng et al. 2014; compared in Poplar, section 3.3). Each device has a
// logger with an equal share of the workers. A worker's private buffer is a chunk of its logger's
// ring (buffer_chunks.h).
//
// Sequence number (TID). The upper bits are the epoch. The TID is larger than the TIDs of the rows
// that the transaction reads and overwrites, and than the worker's last TID. It is drawn before OCC
// validates. Let U overwrite a row that T has read. Then U locks, and hence draws, after T's
// validation, so U's epoch is not smaller than T's. Hence every prefix of epochs is a prefix of the
// serial order. The space for the record is taken after the validation, so a transaction that
// aborts leaves nothing in the log.
//
// Flushing. Full buffers are handed over at once. The epoch thread ends an epoch every
// --silo_epoch_ms. When epoch e has ended and none of a logger's workers has an open transaction of
// e, the logger writes a watermark record of e. For this, the logger takes the earlier buffers that
// no worker is using.
//
// Parts (--log_parts). A number is drawn before its record has a place, and a watermark's place is
// taken after its epoch is over. So neither the length of a chunk nor the time of a write changes
// what lies before a watermark: every part suits the scheme. Its own part is the order of unlock
// and copy, as in Silo's implementation.
//
// Safe when. The persisted epoch is the smallest of the loggers' last durable watermarks. A
// transaction is safe when its epoch is persisted: the transactions from which it has read have no
// larger epoch (R1). Cut: the smallest of the streams' last watermarks (R4: min_cut()).
//
// Idle or blocked workers stall no epoch (R5): a logger takes their buffers. Idle loggers write
// watermark records, as long as some stream has an epoch without a watermark record.
//
// Protocol.
//   tids_      A logger asks which epoch is over for its workers, and then places the watermark
//              record after all their buffers. So no record of e lies after e's watermark.
//   wanted()   the largest epoch with a reservation. The thread that raises it fences, and looks
//              whether that epoch has ended. The thread that ends an epoch fences, and looks at
//              wanted(). So one of the two tells the streams that lack a watermark of the epoch.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include "logging/flag_checks.h"
#include "logging/schemes/common/chunk_scheme.h"
#include "logging/schemes/silo/epoch_tids.h"

DEFINE_double(silo_epoch_ms, 1, "milliseconds of an epoch; the paper's is 40");

namespace logjam {
namespace {

class Silo final : public ChunkScheme, private EarlyNumbers {
 public:
  explicit Silo(const LogConfig& config)
      : ChunkScheme(config, 1),
        epoch_ticks_(platform::ns_to_ticks(FLAGS_silo_epoch_ms * 1e6)),
        first_of_epoch_(config.workers),
        tids_(config.workers) {
    for (uint32_t s = 0; s < streams(); ++s) workers_.push_back(workers_of(s));
  }

  CommitParts parts() override { return {.early_numbers = this}; }
  void draw_number(uint32_t worker, const Dependencies& deps) override {
    tids_.draw(worker, deps.max_number());
  }
  void abandon(uint32_t worker) override {
    tids_.abandon(worker);
    platform::full_fence();
    // This worker may have held up the watermark of its flusher, which then may have gone to sleep.
    if (watermark_due(home(worker))) notify_flusher(home(worker));
  }

  LogReservation reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    const uint32_t index = home(worker);
    const uint64_t tid = tids_.tid(worker, deps.max_number());
    const auto [begin, waited] = take_place(worker, bytes);
    return reservation(index, begin, bytes, tid, waited);
  }

  CommitPoint fill_done(uint32_t worker, const LogReservation& reservation,
                        RecordRole role) override {
    const uint64_t epoch = EpochTids::epoch_of(reservation.sequence);
    first_of_epoch_[worker] = raise_wanted(0, epoch);
    hand_over(worker, reservation.bytes, reservation.sequence);
    tids_.note_publish(worker, commits(role));
    return CommitPoint::in_every_stream(reservation.sequence);
  }
  // Notifies lagging streams if the epoch ended after the draw, but before wanted() had this epoch.
  void after_publish(uint32_t worker, const LogReservation& reservation, RecordRole) override {
    if (!first_of_epoch_[worker]) return;
    if (tids_.ended() >= EpochTids::epoch_of(reservation.sequence)) notify_lagging(wanted());
  }

  uint32_t flushers() const override { return streams() + 1; }
  void flush(uint32_t flusher, bool stopping) override LJ_REQUIRES(platform::log_role) {
    if (flusher < streams()) return MultiStreamScheme::flush(flusher, stopping);
    const uint64_t now = platform::ticks();
    if (epoch_end_ == 0) epoch_end_ = now + epoch_ticks_;
    if (now < epoch_end_ && !(stopping && any_lags())) {
      const auto left = static_cast<uint64_t>(platform::ticks_to_ns(epoch_end_ - now));
      return platform::sleep_ns(std::min(stopping ? kStoppingNs : kLongestNs, left));
    }
    epoch_end_ = now + epoch_ticks_;
    const uint64_t ended = tids_.end_epoch();
    VLOG(2) << "epoch " << ended << " ended";
    platform::full_fence();
    notify_lagging(wanted());
  }

 private:
  static constexpr uint64_t kLongestNs = 10'000'000, kStoppingNs = 100'000;

  bool watermark_due(uint32_t index) const {
    return lags(index) && watermark(index) < tids_.ended();
  }

  uint64_t filled(uint32_t index) override { return pass(index, 0); }
  uint64_t filled_to_write(uint32_t index, uint64_t) override {
    return pass(index, patience_ticks());
  }
  uint64_t pass(uint32_t index, uint64_t patience_ticks) {
    BufferChunks& chunks = this->chunks(index);
    const bool due = watermark_due(index);
    if (due || chunks.pass_due()) {
      chunks.passing().lock();
      if (due) advance_watermark(index, chunks);
      pass_chunks(index, chunks, patience_ticks, [](const BufferChunk&) {});
      chunks.passing().unlock();
    }
    return chunks.filled();
  }

  void advance_watermark(uint32_t index, BufferChunks& chunks) LJ_REQUIRES(chunks.passing()) {
    const uint64_t ended = tids_.over_for(workers_[index]);
    if (watermark(index) >= ended) return;
    if (chunks.append_watermark(EpochTids::last_tid(ended))) raise_watermark(index, ended);
  }

  const uint64_t epoch_ticks_;
  WorkerStates<bool> first_of_epoch_;           // whether the worker's last record raised wanted()
  std::vector<std::vector<uint32_t>> workers_;  // of each stream
  EpochTids tids_;
  uint64_t epoch_end_ = 0;  // when this epoch ends, in ticks; only the epoch thread uses it
};

const SchemeRegistration registration(device_scheme({
    .name = "silo",
    .differs = "buffers are written without a copy; idle loggers write watermark records",
    .buffer = "private, handed to its logger",
    .sequence = "epoch, count: over reads, overwrites",
    .safe_when = "epoch <= persisted epoch",
    .cut = "persisted epoch",
    .source = "Silo; Poplar 3.3",
    .traits = {.number_drawn = NumberDrawn::kBeforeWithoutHole},
    .parts = {.unlock = true},
    .may_have = kEveryPart,
    .recovery = min_cut(&StreamTail::last_watermark, "persisted epoch up to TID"),
    .construct = construct<Silo>,
    .check_flags = [] { return check_range("silo_epoch_ms", FLAGS_silo_epoch_ms, 0.005, 10'000); },
}));

}  // namespace
}  // namespace logjam
