// FasterLog's tracker, which keeps no list of records. A worker enters the current epoch before it
// draws its position, and leaves the epoch when its hole is filled. A thread that wants SBL to
// advance takes the position at which the next record will begin as the *read-only address*, and
// raises the epoch. When no worker is in an older epoch (the epoch is *drained*), all bytes before
// the read-only address are filled, and SBL moves there.
//
// Why these bytes are filled (common/worker_words.h has the orders; the address is the cutoff). Let
// a worker's hole lie before the address. A thread that has loaded the address sees the word that
// the worker stored before it drew the hole, or a later word:
//   an older epoch  The epoch is not drained.
//   no epoch        The hole is filled.
//   this epoch, or a later one
//                   The worker has loaded the raised epoch (acquire), which was stored (release)
//                   after the address had been loaded from `next`. So the worker draws its position
//                   at the address or after it. Its earlier holes are filled.
//   kOpen           The worker waits for room, and the word has the begin of its hole. The worker
//                   does not hold the epoch up, but SBL stops at the hole.
// A worker delays an advance only until its record is filled. An idle worker is in no epoch (R5).
//
// Protocol. One thread at a time uses `read_only_` and stores `epoch_` (release), under the
// caller's lock. Workers load `epoch_` (acquire).
#pragma once

#include "logging/schemes/common/worker_words.h"
#include "logging/stream/ring.h"

namespace logjam {

class EpochSlots : public WorkerWords {
 public:
  // The word after the workers' is for the thread that appends a commit record.
  EpochSlots(uint32_t workers, const Ring&) : WorkerWords(workers + 1) {}

  void announce(uint32_t worker, const platform::atomic<uint64_t>&) {
    store(worker, epoch_.load(platform::memory_order_acquire));
  }
  void publish(uint32_t worker, uint64_t, uint64_t) { store(worker, kNoEpoch); }

  // Ends the advance that is under way, if it can, and then begins the next one.
  uint64_t advance(uint64_t filled, const platform::atomic<uint64_t>& next) {
    if (filled < read_only_) filled = drain(filled);
    if (filled < read_only_) return filled;
    read_only_ = next.load(platform::memory_order_acquire);
    epoch_.store(epoch_.load(platform::memory_order_relaxed) + 1, platform::memory_order_release);
    return drain(filled);
  }

 private:
  static constexpr uint64_t kNoEpoch = 0;

  // Returns the position up to which the log is filled, at most the read-only address. Returns
  // `filled` if the epoch is not drained.
  uint64_t drain(uint64_t filled) const {
    const uint64_t epoch = epoch_.load(platform::memory_order_relaxed);
    uint64_t end = read_only_;
    for_each_word([&](uint64_t slot) {
      if ((slot & kOpen) != 0) {
        end = std::min(end, slot & ~kOpen);
      } else if (slot != kNoEpoch && slot < epoch) {
        end = filled;
      }
    });
    return std::max(filled, end);
  }

  // In its own cache line: each worker loads it for each record, and only an advance stores it.
  alignas(platform::kCacheLine) platform::atomic<uint64_t> epoch_{1};
  alignas(platform::kCacheLine) uint64_t read_only_ = 0;
};

}  // namespace logjam
