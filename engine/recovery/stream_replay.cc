#include "engine/recovery/stream_replay.h"

#include "platform/clock.h"

namespace logjam {
namespace {

uint64_t bytes_of(const RecordBatch& batch) {
  constexpr uint64_t kListBytes = sizeof(void*) + sizeof(uint64_t);  // a record and its position
  return batch.memory->size() + batch.records.size() * kListBytes;
}

}  // namespace

StreamReplay::StreamReplay(const LogFiles& files, uint32_t stream, const RecoveryRule& rule,
                           RecoveryProgress& progress, StreamShare share, LogMemoryMeter& meter,
                           std::vector<DevicePace*> paces)
    : stream_(stream),
      most_held_bytes_(share.most_held_bytes),
      progress_(progress),
      reader_(files, stream, std::move(paces), {share.window_bytes, &meter}),
      assembler_(stream, rule, &meter),
      read_(reader_.tail().bytes),
      kept_(read_) {}

void StreamReplay::read() {
  for (Step step = next_step(); step != Step::kEnd; step = next_step()) {
    if (step == Step::kWait) {
      platform::sleep_ns(kRecoveryNapNs);
    } else if (step == Step::kReadAgain) {
      read_again();
    } else {
      read_on(step == Step::kReadOn);
    }
  }
}

StreamReplay::Step StreamReplay::next_step() {
  platform::lock_guard<platform::mutex> hold(mutex_);
  const bool passed_over = kept_ < read_;
  if (ended_ && !passed_over) return Step::kEnd;
  if (held_bytes_ < most_held_bytes_) return passed_over ? Step::kReadAgain : Step::kReadOn;
  if (ended_) return Step::kWait;
  if (is_certain(progress_.known()) && !progress_.merge_waits()) return Step::kWait;
  return progress_.others_are_less_ahead(stream_) ? Step::kWait : Step::kPassOver;
}

void StreamReplay::read_on(bool keeps) {
  RecordBatch batch;
  const bool more = reader_.next(&batch);
  platform::lock_guard<platform::mutex> hold(mutex_);
  read_ = reader_.tail().bytes;
  ended_ = !more;
  if (more && keeps) keep(std::move(batch));
  report_ahead();
  StreamTail tail = reader_.tail();
  reader_.forget_watermarks();  // the report below contains the watermarks
  progress_.report_read(stream_, std::move(tail), ended_);
}

void StreamReplay::read_again() {
  uint64_t from = 0;
  {
    const platform::lock_guard<platform::mutex> hold(mutex_);
    from = kept_;
  }
  RecordBatch batch;
  reader_.read_again(from, &batch);
  const platform::lock_guard<platform::mutex> hold(mutex_);
  keep(std::move(batch));
}

void StreamReplay::keep(RecordBatch batch) {
  LJ_ASSERT(!batch.records.empty() && batch.positions.front() >= kept_);
  kept_ = batch.positions.back() + batch.records.back()->bytes;
  held_bytes_ += bytes_of(batch);
  held_.push_back({std::move(batch)});
}

void StreamReplay::report_ahead() {
  progress_.report_ahead(stream_, held_bytes_ + (read_ - kept_));
}

StreamReplay::Next StreamReplay::next(BodiesToApply* ready) {
  platform::lock_guard<platform::mutex> hold(mutex_);
  if (held_.empty()) return ended_ && kept_ == read_ ? Next::kDone : Next::kUnread;
  const RecoveryProgress::Known known = progress_.known();
  if (!is_certain(known) && !known.final) return Next::kLater;
  const RecordBatch& batch = held_.front().batch;
  *ready = assembler_.take(batch, *known.cut);
  for (const auto& body : ready->bodies) {
    platform::atomic_max(reached_, body.sequence, platform::memory_order_relaxed);
  }
  held_bytes_ -= bytes_of(batch);
  held_.pop_front();
  report_ahead();
  return Next::kTaken;
}

StreamReplay::Next StreamReplay::oldest(const RecordBatch** batch) {
  platform::lock_guard<platform::mutex> hold(mutex_);
  if (held_.empty()) return ended_ && kept_ == read_ ? Next::kDone : Next::kUnread;
  *batch = &held_.front().batch;
  return Next::kTaken;
}

bool StreamReplay::take(const RecordBatch& batch, size_t i, const RecoveryProgress::Known& known,
                        BodiesToApply* ready) {
  if (!known.final && !assembler_.survives(batch, i, *known.cut)) return false;
  assembler_.take(batch, i, *known.cut, ready);
  return true;
}

void StreamReplay::drop_oldest() {
  platform::lock_guard<platform::mutex> hold(mutex_);
  LJ_ASSERT(!held_.empty());
  assembler_.leave(held_.front().batch);
  held_bytes_ -= bytes_of(held_.front().batch);
  held_.pop_front();
  report_ahead();
}

// Returns whether all records of the oldest batch survive.
bool StreamReplay::is_certain(const RecoveryProgress::Known& known) {
  LJ_ASSERT(!held_.empty());
  auto& [batch, surviving] = held_.front();
  const size_t all = batch.records.size();
  while (surviving < all && assembler_.survives(batch, surviving, *known.cut)) ++surviving;
  return surviving == all;
}

}  // namespace logjam
