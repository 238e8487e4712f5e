// A question to the workers of a run: when is a transaction safe that has read everything with
// numbers up to a given one?
//
// A checkpoint has read rows of transactions that may not be durable. The log scheme says of a
// commit point whether it is durable, and only workers get commit points. So any worker that is
// between two transactions answers with the commit point of a read-only transaction.
//
// Protocol. One thread asks, and asks again only after the answer. The asker writes `sequence_` and
// then sets state_ from kNone to kAsked (release). The one worker whose exchange succeeds sets it
// to kAnswering (acquire), writes `point_`, and sets it to kAnswered (release), which the asker
// acquires.
#pragma once

#include <cstdint>

#include "logging/log_scheme.h"
#include "platform/atomic.h"

namespace logjam {

class CommitPointRequest {
 public:
  // Asks for a commit point of all numbers up to `sequence`. Called by the asker, as are answered()
  // and point().
  void ask(uint64_t sequence) {
    sequence_ = sequence;
    state_.store(kAsked, platform::memory_order_release);
  }
  bool answered() const { return state_.load(platform::memory_order_acquire) == kAnswered; }
  const CommitPoint& point() const { return point_; }

  // Answers if a question is open. `commit_read_only(deps)` is the scheme's. Called by a worker
  // between two transactions.
  template <class CommitReadOnly>
  void answer_if_asked(const CommitReadOnly& commit_read_only) {
    uint32_t state = state_.load(platform::memory_order_relaxed);
    if (state != kAsked) return;
    if (!state_.compare_exchange_strong(state, kAnswering, platform::memory_order_acquire)) return;
    point_ = commit_read_only(
        Dependencies{.max_read = sequence_, .max_foreign = sequence_, .reads = true});
    state_.store(kAnswered, platform::memory_order_release);
  }

 private:
  static constexpr uint32_t kNone = 0, kAsked = 1, kAnswering = 2, kAnswered = 3;

  platform::atomic<uint32_t> state_{kNone};
  uint64_t sequence_ = 0;
  CommitPoint point_;
};

}  // namespace logjam
