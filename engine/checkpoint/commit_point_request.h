// A question to the workers of a run: when will a transaction be safe that has read everything with
// numbers up to this one?
//
// A checkpoint has read rows of transactions that may not be durable. Whether they are, the log
// scheme says of a commit point, and only workers get commit points: so any worker that is between
// two transactions answers with the commit point of a read-only transaction.
//
// Protocol. One thread asks, and asks again only after the answer. state_ goes from kNone to kAsked
// (release, by the asker, behind `sequence_`), to kAnswering (by the one worker whose exchange
// succeeds, acquire), and to kAnswered (release, by that worker, behind `point_`), which the asker
// acquires.
#pragma once

#include <cstdint>

#include "logging/log_scheme.h"
#include "platform/atomic.h"

namespace logjam {

class CommitPointRequest {
 public:
  // The asker.
  void ask(uint64_t sequence) {
    sequence_ = sequence;
    state_.store(kAsked, platform::memory_order_release);
  }
  bool answered() const { return state_.load(platform::memory_order_acquire) == kAnswered; }
  const CommitPoint& point() const { return point_; }

  // A worker between two transactions. `commit_read_only(deps)` is the scheme's.
  template <class CommitReadOnly>
  void answer_if_asked(const CommitReadOnly& commit_read_only) {
    uint32_t state = state_.load(platform::memory_order_relaxed);
    if (state != kAsked) return;
    if (!state_.compare_exchange_strong(state, kAnswering, platform::memory_order_acquire)) return;
    point_ = commit_read_only(Dependencies{.max_read = sequence_, .reads = true});
    state_.store(kAnswered, platform::memory_order_release);
  }

 private:
  static constexpr uint32_t kNone = 0, kAsked = 1, kAnswering = 2, kAnswered = 3;

  platform::atomic<uint32_t> state_{kNone};
  uint64_t sequence_ = 0;
  CommitPoint point_;
};

}  // namespace logjam
