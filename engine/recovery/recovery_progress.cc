#include "engine/recovery/recovery_progress.h"

namespace logjam {

void RecoveryProgress::report_read(uint32_t stream, const StreamTail& tail, bool ended) {
  platform::lock_guard<platform::mutex> hold(mutex_);
  tails_[stream] = tail;
  if (ended) {
    ended_[stream] = true;
    --unread_;
  }
  cut_ = std::make_shared<const Cut>(rule_.cut(tails_));
}

void RecoveryProgress::report_held(uint32_t stream, uint64_t bytes) {
  platform::lock_guard<platform::mutex> hold(mutex_);
  held_bytes_[stream] = bytes;
}

RecoveryProgress::Known RecoveryProgress::known() const {
  platform::lock_guard<platform::mutex> hold(mutex_);
  return {cut_, unread_ == 0};
}

bool RecoveryProgress::others_hold_less(uint32_t stream) const {
  platform::lock_guard<platform::mutex> hold(mutex_);
  for (size_t other = 0; other < held_bytes_.size(); ++other) {
    if (!ended_[other] && held_bytes_[other] < held_bytes_[stream]) return true;
  }
  return false;
}

}  // namespace logjam
