// The rule of `tide-epochs`: one epoch for all streams, which workers announce (as in `silo`). A
// watermark includes all epochs that have ended and in which no worker of the stream has an open
// record. The numbers are Silo's TIDs, but drawn after the validation, as in the other rules.
//
// The first stream to write in a round ends the epoch. The other streams write watermarks of this
// epoch, and the first stream whose watermark has reached it ends the next one. So no thread and no
// period are necessary, and epochs are as short as the parts allow.
//
// Protocol. epoch_tids.h has the fields, and why a look misses no epoch.
//   the worker                                  the thread that writes stream s
//   W1  announces the epoch, draws a TID        L1  ends the epoch, if no stream has done so since
//   W2  takes the record's place (acquire)          the last watermark of s
//   W3  fills the record, withdraws (release)   L2  looks at the epochs of the workers of s
//                                               L3  takes the watermark's place (release)
//
// Claim: each record of s with an epoch that L2 has found to be over lies before the watermark.
// Proof: the TID is no longer in use at L2, which has acquired W3. So W2 happened before L3. Places
// are taken by read-modify-writes of one word, so the record lies before the watermark.
//
// An open record holds its epoch, and so a watermark, back. The publish wakes the thread that
// writes.
#pragma once

#include <utility>

#include "logging/schemes/silo/epoch_tids.h"
#include "logging/schemes/tide/watermark_rule.h"

namespace logjam {

class EndedEpochs {
 public:
  EndedEpochs(uint32_t workers, WorkersOfStreams streams)
      : streams_(std::move(streams)), tids_(workers) {}

  template <class TakePlace>
  auto reserve(uint32_t /*stream*/, uint32_t worker, uint64_t above, const TakePlace& take_place) {
    const uint64_t tid = tids_.tid(worker, above);
    return std::pair(tid, take_place());
  }
  void publish(uint32_t worker, uint64_t /*number*/) { tids_.note_publish(worker, true); }

  uint64_t begin_watermark(uint32_t /*stream*/, uint64_t last) {
    if (EpochTids::epoch_of(last) >= tids_.ended()) tids_.end_epoch();
    return EpochTids::last_tid(tids_.ended());
  }
  uint64_t complete(uint32_t stream, uint64_t /*goal*/) {
    return EpochTids::last_tid(tids_.over_for(streams_[stream]));
  }

 private:
  const WorkersOfStreams streams_;
  EpochTids tids_;
};

}  // namespace logjam
