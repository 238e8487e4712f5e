// The clock of commits under a protocol that keeps old versions (old_version.h).
//
// A *commit stamp* numbers the commits that change rows. The *durable prefix* is the largest stamp
// up to which all commits are durable. A snapshot that ends there contains nothing that a crash can
// take back (--snapshot=durable). The scheme says when a commit is durable, so each scheme can have
// such snapshots. A scheme may make commits durable in another order than that of their stamps, so
// a durable commit may still be beyond the durable prefix.
//
// Protocol. draw() increments `last_` with acquire and release. With track(), each worker stores a
// number in its element of `oldest_`. This number is at most the smallest stamp of the worker's
// commits that may not be durable. announce() stores it before the worker draws a stamp, and
// note_oldest() when commits have become durable. extend_durable_prefix() loads `last_` first. Each
// stamp up to this value was announced before it was drawn. So extend_durable_prefix() finds the
// announcement, or a later number, which the worker stored when the commit was durable.
//
// An announcement may be smaller than the durable prefix, because other workers may draw stamps
// between the two steps of announce(). So `durable_prefix_` is the maximum of all results, and
// never shrinks.
//
// note_oldest() and extend_durable_prefix() are seq_cst: if two workers call the first function and
// then the second, at least one of them finds the other's number. So the last of several commits
// that become durable extends the prefix over all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/thread_annotations.h"

namespace logjam {

class CommitClock {
 public:
  static constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

  // Returns the largest stamp that was drawn.
  uint64_t last() const { return last_->load(platform::memory_order_acquire); }
  // Returns the next stamp.
  uint64_t draw() LJ_REQUIRES(platform::worker_role) {
    return last_->fetch_add(1, platform::memory_order_acq_rel) + 1;
  }

  // Makes the clock keep a durable prefix. Call it before any worker draws a stamp.
  void track(uint32_t workers) {
    LJ_ASSERT(!tracks() && last() == 0);
    oldest_ = std::vector<platform::Padded<platform::atomic<uint64_t>>>(workers);
    for (auto& oldest : oldest_) oldest->store(kNone, platform::memory_order_relaxed);
  }
  bool tracks() const { return !oldest_.empty(); }

  // Says that `worker` is about to draw a stamp. Call it only if the clock tracks stamps.
  void announce(uint32_t worker) LJ_REQUIRES(platform::worker_role) {
    auto& oldest = *oldest_[worker];
    if (oldest.load(platform::memory_order_relaxed) != kNone) return;
    oldest.store(last() + 1, platform::memory_order_relaxed);
  }
  // Says that the commits of `worker` with stamps below `oldest` are durable; kNone: all are.
  void note_oldest(uint32_t worker, uint64_t oldest) LJ_REQUIRES(platform::worker_role) {
    oldest_[worker]->store(oldest, platform::memory_order_seq_cst);
  }

  uint64_t durable_prefix() const { return durable_prefix_->load(platform::memory_order_acquire); }
  // Looks at the numbers of all workers. Returns the durable prefix.
  uint64_t extend_durable_prefix() LJ_REQUIRES(platform::worker_role) {
    LJ_ASSERT_IN_TESTS(tracks());
    uint64_t stamp = last();
    for (const auto& oldest : oldest_) {
      stamp = std::min(stamp, oldest->load(platform::memory_order_seq_cst) - 1);
    }
    platform::atomic_max(*durable_prefix_, stamp);
    return durable_prefix();
  }

 private:
  platform::Padded<platform::atomic<uint64_t>> last_{}, durable_prefix_{};
  std::vector<platform::Padded<platform::atomic<uint64_t>>> oldest_;  // by worker
};

}  // namespace logjam
