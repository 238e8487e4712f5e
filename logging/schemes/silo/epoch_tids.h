// Silo's transaction numbers (TIDs). The upper bits of a TID are its epoch, the lower bits a count.
// If the count overflows in an epoch, the worker draws TIDs of the next epoch.
//
// There is one current epoch, which any thread may end. A worker's TID is in use from the draw
// until the worker has published the last record with the TID, or has abandoned the TID. An ended
// epoch is over for a set of workers when none of them uses, or will ever draw, a TID of the epoch.
//
// Protocol. Only worker w uses workers_[w], except for the epoch of its TID, which it announces to
// all threads (announced_number.h). A worker loads epoch_ once for the bound, and once for the TID.
// over_for() loads epoch_, fences, and looks at the announced epochs. So the epoch of a TID in use
// is announced, or the thread has not seen this epoch end. A thread that sees that a TID is not in
// use any more also sees the records that were published with the TID.
//
// If an epoch ends while a worker draws a TID, over_for() may see an older bound. No extra wake-up
// is necessary: the worker publishes soon, and the publish wakes the thread.
#pragma once

#include "logging/commit_point.h"
#include "logging/schemes/common/announced_number.h"
#include "logging/schemes/common/worker_states.h"
#include "platform/fatal.h"

namespace logjam {

class EpochTids {
  static constexpr uint32_t kCountBits = 26;

 public:
  // The last epoch whose TIDs fit in a version word. It comes after two years with epochs of 1 ms,
  // and after four days with epochs of 5 us.
  static constexpr uint64_t kLastEpoch = (uint64_t{1} << (kSequenceBits - kCountBits)) - 2;

  explicit EpochTids(uint32_t workers, uint64_t first_epoch = 1)
      : workers_(workers), epoch_(first_epoch) {}

  static constexpr uint64_t epoch_of(uint64_t tid) { return tid >> kCountBits; }
  static constexpr uint64_t first_tid(uint64_t epoch) { return epoch << kCountBits; }
  static constexpr uint64_t last_tid(uint64_t epoch) { return first_tid(epoch + 1) - 1; }

  // Draws a TID larger than `above` and than the worker's earlier ones, for all records of a
  // transaction. Only the worker calls draw() and the next three functions.
  void draw(uint32_t worker, uint64_t above) {
    State& me = workers_[worker];
    me.epoch.announce(now(), [&] {
      me.tid = std::max(std::max(me.tid, above) + 1, first_tid(now()));
      return epoch_of(me.tid);
    });
    me.drawn = true;
  }
  // Returns the transaction's TID. Without draw(), draws a TID for the next record alone.
  uint64_t tid(uint32_t worker, uint64_t above) {
    State& me = workers_[worker];
    if (!me.drawn) {
      draw(worker, above);
      me.drawn = false;
    }
    return me.tid;
  }
  // Notes that a record was published. Ends the use of the TID after the transaction's last record
  // (`last`), or after a record with a TID of its own.
  void note_publish(uint32_t worker, bool last) {
    if (last || !workers_[worker].drawn) abandon(worker);
  }
  void abandon(uint32_t worker) {
    workers_[worker].drawn = false;
    workers_[worker].epoch.withdraw();
  }

  // Ends the current epoch, and returns it. The first epoch is 1. Ends the process after the last
  // epoch. Any thread may call this function and the next two.
  uint64_t end_epoch() {
    const uint64_t ended = epoch_.fetch_add(1);
    if (ended >= kLastEpoch) {
      platform::fatal("the log has had all its " + std::to_string(kLastEpoch) +
                      " epochs; --continue begins to count again");
    }
    return ended;
  }
  uint64_t ended() const { return now() - 1; }
  // Returns the last epoch that is over for all workers in `some`.
  uint64_t over_for(std::span<const uint32_t> some) const {
    uint64_t over = ended();
    platform::full_fence();
    for (const uint32_t worker : some) {
      over = std::min(over, workers_[worker].epoch.look() - 1);
    }
    return over;
  }

 private:
  struct State {
    uint64_t tid = 0;
    bool drawn = false;  // whether draw() drew the TID, for all records of a transaction
    AnnouncedNumber epoch;
  };

  uint64_t now() const { return epoch_.load(platform::memory_order_acquire); }

  WorkerStates<State> workers_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> epoch_;
};

}  // namespace logjam
