// Asks the workers of a run for the commit point of a transaction that has read all sequence
// numbers up to a given number. A checkpoint waits for this point, because it has copied rows whose
// transactions may not be durable. Only workers can get a commit point: a worker between two
// transactions answers with the commit point of a read-only transaction.
//
// Protocol. One thread asks: it writes `sequence_`, and then sets state_ to kAsked (release). One
// worker's exchange sets state_ to kAnswering (acquire). This worker writes `point_`, and then sets
// state_ to kAnswered (release). The asker loads state_ (acquire).
#pragma once

#include <cstdint>

#include "logging/log_scheme.h"
#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/thread_annotations.h"

namespace logjam {

class CommitPointRequest {
 public:
  // Asks the question. One thread, the asker, calls ask(), answered() and point().
  void ask(uint64_t sequence) {
    LJ_ASSERT(state_.load(platform::memory_order_relaxed) == kNone || answered());
    sequence_ = sequence;
    state_.store(kAsked, platform::memory_order_release);
  }
  bool answered() const { return state_.load(platform::memory_order_acquire) == kAnswered; }
  const CommitPoint& point() const {
    LJ_ASSERT(answered());
    return point_;
  }

  // Answers an open question with `commit_read_only(deps)`. Call it between two transactions.
  template <class CommitReadOnly>
  void answer_if_asked(const CommitReadOnly& commit_read_only) LJ_REQUIRES(platform::worker_role) {
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
