#include "engine/recovery/recovery_progress.h"

namespace logjam {

void RecoveryProgress::report_read(uint32_t stream, StreamTail tail, bool ended) {
  platform::lock_guard<platform::mutex> hold(mutex_);
  const bool watermarks = !tail.watermarks.empty();
  auto& kept = tails_[stream].watermarks;
  tail.watermarks.insert(tail.watermarks.begin(), kept.begin(), kept.end());
  tails_[stream] = std::move(tail);
  if (ended) {
    ended_[stream] = true;
    --unread_;
  }
  cut_ = std::make_shared<const Cut>(rule_.cut(tails_));
  if (watermarks || ended) rule_.forget(tails_);
}

void RecoveryProgress::report_ahead(uint32_t stream, uint64_t bytes) {
  platform::lock_guard<platform::mutex> hold(mutex_);
  bytes_ahead_[stream] = bytes;
}

void RecoveryProgress::report_merge_waits(bool waits) {
  platform::lock_guard<platform::mutex> hold(mutex_);
  merge_waits_ = waits;
}

RecoveryProgress::Known RecoveryProgress::known() const {
  platform::lock_guard<platform::mutex> hold(mutex_);
  return {cut_, unread_ == 0};
}

bool RecoveryProgress::others_are_less_ahead(uint32_t stream) const {
  platform::lock_guard<platform::mutex> hold(mutex_);
  for (size_t other = 0; other < bytes_ahead_.size(); ++other) {
    if (!ended_[other] && bytes_ahead_[other] < bytes_ahead_[stream]) return true;
  }
  return false;
}

bool RecoveryProgress::merge_waits() const {
  platform::lock_guard<platform::mutex> hold(mutex_);
  return merge_waits_;
}

}  // namespace logjam
