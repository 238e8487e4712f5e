#include "engine/storage/reclaimer.h"

#include <algorithm>

namespace logjam {

uint64_t Epochs::safe_before() const {
  uint64_t least = kNever;
  for (const auto& seen : worker_epochs_) {
    least = std::min(least, seen->load(platform::memory_order_acquire));
  }
  return least;
}

void Reclaimer::note_durable(uint32_t queue, uint32_t count) {
  auto& waiting = waiting_[queue];
  LJ_ASSERT(count <= waiting.size());
  const uint64_t epoch = old_versions_ ? epochs_.retire() : 0;
  for (uint32_t i = 0; i < count; ++i) {
    candidates_.push_back(waiting[i]);
    candidates_.back().epoch = epoch;
  }
  waiting.erase(waiting.begin(), waiting.begin() + count);
}

void Reclaimer::remove_some() {
  const size_t before = limbo_.size();
  for (size_t left = std::min(candidates_.size(), kAtOnce); left > 0; --left) {
    const Erasure erasure = candidates_.front();
    if (old_versions_ && erasure.sequence != 0 && erasure.epoch >= safe_) break;
    candidates_.pop_front();
    const bool done =
        erasure.table->remove_absent(erasure.key, erasure.sequence, old_versions_, &retired_);
    for (const Retired& retired : retired_) {
      limbo_.push_back({kOpen, erasure.table, retired});
      if (retired.kind == Retired::Kind::kOldVersion) {
        waiting_bytes_ += erasure.table->old_version_bytes();
      }
    }
    retired_.clear();
    if (!done) candidates_.push_back(erasure);
  }
  open_ += limbo_.size() - before;
  if (limbo_.size() != before) close_batch();
}

// Gives the memory at the end of limbo_ an epoch.
void Reclaimer::close_batch() {
  const uint64_t epoch = epochs_.retire();
  const size_t first = limbo_.size() - open_;
  LJ_ASSERT(first == 0 || limbo_[first - 1].epoch < epoch);
  for (size_t i = first; i < limbo_.size(); ++i) limbo_[i].epoch = epoch;
  open_ = 0;
}

void Reclaimer::recycle_safe() {
  // A check loads a cache line of each worker, so workers check seldom if they are many. With 256
  // workers, a check in every 16th transaction caused 37 % of all waits for cache lines (NewOrder
  // and Payment, simulated).
  constexpr uint32_t kCheckEvery = 16;
  if (++since_check_ < std::max(kCheckEvery, epochs_.workers())) return;
  since_check_ = 0;
  safe_ = epochs_.safe_before();
  while (!limbo_.empty() && limbo_.front().epoch < safe_) {
    const Limbo& done = limbo_.front();
    if (done.retired.kind == Retired::Kind::kOldVersion) {
      waiting_bytes_ -= done.table->old_version_bytes();
    }
    done.table->recycle(done.retired, arena_);
    limbo_.pop_front();
  }
}

}  // namespace logjam
