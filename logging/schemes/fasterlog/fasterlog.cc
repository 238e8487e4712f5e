// `fasterlog`: LSN by fetch-add, and epochs in place of a list of holes, as in FasterLog, the log
// of FASTER and of Garnet's append-only file (Chandramouli et al., FASTER, SIGMOD 2018).
// epoch_slots.h has the algorithm and its proof.
//
// Only an advance of SBL writes the epoch's cache line. The price is that SBL moves later than with
// a list of holes. An advance waits for every worker in an older epoch, even if the worker's hole
// lies after the read-only address. And a record that is filled during an advance waits for the
// next advance.
//
// Commit record. A commit (FasterLog.cs, CommitInternal with FastCommitMode, as Garnet sets it)
// appends a record with the commit's data, and flushes the log up to the end of this record. Here
// each write does so: filled_to_write() draws a watermark record, unless no record was drawn since
// the last one. The thread that writes may not wait for room. So the next thread that asks for SBL
// and finds room fills the record, which is a hole until then. Recovery needs no commit record,
// because a prefix of the log is closed (R4).
//
// Protocol. The last word of the tracker belongs to the commit record. filled_to_write() runs under
// the flush latch. It stores begin_ and then open_ (release), if the last commit record is filled.
// The holder of filling_ fills the record, and then clears open_ (release).
#include "logging/format/record_writer.h"
#include "logging/schemes/common/fetch_add_scheme.h"
#include "logging/schemes/fasterlog/epoch_slots.h"

namespace logjam {
namespace {

class FasterLog final : public FetchAddScheme<EpochSlots> {
 public:
  explicit FasterLog(const LogConfig& config) : FetchAddScheme(config), workers_(config.workers) {}

 private:
  static constexpr uint32_t kBytes = sizeof(RecordHeader);

  uint64_t filled_to_write(uint32_t, uint64_t) override {
    if (!open_.load(platform::memory_order_acquire) && reserved() != begin_ + kBytes) {
      begin_ = draw(workers_, kBytes);
      open_.store(true, platform::memory_order_release);
    }
    return sbl();
  }
  uint64_t sbl() const override {
    if (open_.load(platform::memory_order_acquire) && filling_.try_lock()) {
      fill_commit_record();
      filling_.unlock();
    }
    return FetchAddScheme::sbl();
  }
  void fill_commit_record() const LJ_REQUIRES(filling_) {
    if (!open_.load(platform::memory_order_acquire) || !fits(begin_ + kBytes)) return;
    RecordWriter record(reservation(begin_, kBytes, 0), RecordKind::kWatermark, 0);
    record.seal(run(), begin_);
    note_filled(workers_, begin_, begin_ + kBytes);
    open_.store(false, platform::memory_order_release);
  }

  const uint32_t workers_;
  uint64_t begin_ = ~uint64_t{0} - kBytes + 1;  // of the last commit record; it ended at 0 at first
  mutable platform::atomic<bool> open_{false};
  mutable platform::SpinLock filling_;
};

const SchemeRegistration registration(fetch_add_scheme({
    .name = "fasterlog",
    .differs = "who asks for SBL raises the epoch and drains it, where workers drain it, too, as "
               "they enter; one ring for pages; a worker that waits for room keeps its hole, where "
               "FASTER's draws again; the commit record has 32 bytes, and no data of iterators; a "
               "commit whose own bytes are durable does not wait for the commit record; no "
               "metadata file is written after the flush, as FASTER does without FastCommitMode",
    .buffer = "fetch-add + epochs: SBL advances when the older epoch is drained",
    .source = "FASTER's FasterLog, Garnet",
    .construct = construct<FasterLog>,
}));

}  // namespace
}  // namespace logjam
