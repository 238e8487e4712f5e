#include "engine/recovery/stream_replay.h"

#include <utility>

#include "platform/clock.h"

namespace logjam {

StreamReplay::StreamReplay(const LogFiles& files, uint32_t stream, const RecoveryRule& rule,
                           RecoveryProgress& progress, uint64_t most_held_bytes,
                           std::vector<DevicePace*> paces)
    : stream_(stream),
      most_held_bytes_(most_held_bytes),
      progress_(progress),
      reader_(files.paths[stream], std::move(paces), files.start(stream)),
      assembler_(stream, rule) {}

void StreamReplay::read() {
  for (bool more = true; more;) {
    RecordBatch batch;
    more = reader_.next(&batch);
    {
      platform::lock_guard<platform::mutex> hold(mutex_);
      if (more) {
        held_bytes_ += batch.memory->size();
        held_.push_back({std::move(batch)});
      }
      ended_ = !more;
      progress_.report_held(stream_, held_bytes_);
      progress_.report_read(stream_, reader_.tail(), ended_);
    }
    while (!may_read_on()) platform::sleep_ns(kRecoveryNapNs);
  }
}

StreamReplay::Next StreamReplay::next(BodiesToApply* ready) {
  platform::lock_guard<platform::mutex> hold(mutex_);
  if (held_.empty()) return ended_ ? Next::kDone : Next::kLater;
  const RecoveryProgress::Known known = progress_.known();
  if (!is_certain(known) && !known.final) return Next::kLater;
  const RecordBatch& batch = held_.front().batch;
  *ready = assembler_.take(batch, *known.cut);
  held_bytes_ -= batch.memory->size();
  held_.pop_front();
  progress_.report_held(stream_, held_bytes_);
  return Next::kTaken;
}

// Returns whether the reader may read more. Bounds memory while the streams advance together. A
// stream over the bound waits for appliers, if its next batch is certain, and for other streams, if
// it is not. Among streams that wait for each other, the stream that holds the least bytes reads
// on, even over the bound, because the other streams need its records.
bool StreamReplay::may_read_on() {
  platform::lock_guard<platform::mutex> hold(mutex_);
  if (held_bytes_ < most_held_bytes_) return true;
  return !is_certain(progress_.known()) && !progress_.others_hold_less(stream_);
}

// Returns whether the oldest batch survives as a whole. Called under mutex_, with a batch held.
bool StreamReplay::is_certain(const RecoveryProgress::Known& known) {
  auto& [batch, surviving] = held_.front();
  const size_t all = batch.records.size();
  while (surviving < all && assembler_.survives(batch, surviving, *known.cut)) ++surviving;
  return surviving == all;
}

}  // namespace logjam
