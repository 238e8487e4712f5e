// The consolidation array (Aether, section 5.1, Alg. 4, A.4, A.5). Threads that find the log's lock
// busy form groups, and only the first thread of each group takes the lock.
//
// Protocol. The word `state` says in which state a slot is (the paper's figure 17):
//
//   kReady + n   open: the group has n bytes so far; if n is 0 there is no group yet
//   kPending     closed: the leader acquires space for the group
//   kDone - n    copying: n bytes are not filled yet; at kDone the last member is leaving
//   kFree        the slot is in the pool
//
//   join    adds the insert's bytes to an open state, by CAS. The thread that gets offset 0 leads
//           the group. If a thread's slot was closed and opened again, it joins the later group.
//   close   The leader puts a free slot into the array: it stores the free slot's `index`, then its
//           state (release), then the array's pointer (release). Then it exchanges the closed
//           slot's state for kPending. After that no thread joins the group.
//   notify  stores `region`, then the state (release). Members load the state (acquire).
//   leave   is fetch_add(bytes) (acq_rel). So the fills of all other members, and their reads of
//           `region`, happen before the last member reaches kDone and frees the slot.
//
// The pool has more slots than can be open or copying at once, so close() always finds a free slot.
#pragma once

#include <vector>

#include "logging/schemes/aether/release.h"

namespace logjam {

class ConsolidationArray {
 public:
  struct alignas(platform::kCacheLine) Slot {
    platform::atomic<int64_t> state;
    uint32_t index = 0;            // in the array; only the leader uses it
    Region region;                 // of the group
    platform::EventCount members;  // where members wait for the region
  };
  struct Position {
    Slot* slot;
    uint64_t offset;  // in the group's region, in bytes; 0 means that the thread is the leader
  };

  // At most `members` threads use the array. A group of two or more members has at most
  // `max_group_bytes`.
  ConsolidationArray(uint32_t slots, uint32_t members, uint64_t max_group_bytes)
      : max_group_bytes_(max_group_bytes), array_(slots), pool_(2 * (slots + members) + 1) {
    for (Slot& slot : pool_) slot.state.store(kFree, platform::memory_order_relaxed);
    for (uint32_t index = 0; index < slots; ++index) {
      Slot& slot = pool_[next_++];
      slot.index = index;
      slot.state.store(kReady, platform::memory_order_relaxed);
      array_[index].store(&slot, platform::memory_order_release);
    }
  }

  // Joins a group, at a slot chosen by `random`. Any thread may call it. Then the leader calls
  // close() and notify(), the other members call wait(), and the last member to leave calls free().
  Position join(uint64_t bytes, uint64_t random) {
    platform::SpinWait spin;
    for (;; ++random, spin.once()) {
      Slot* slot = array_[random % array_.size()].load(platform::memory_order_acquire);
      int64_t state = slot->state.load(platform::memory_order_relaxed);
      while (state >= kReady) {
        const auto offset = static_cast<uint64_t>(state - kReady);
        if (offset != 0 && offset + bytes > max_group_bytes_) break;
        if (slot->state.compare_exchange_weak(state, state + static_cast<int64_t>(bytes),
                                              platform::memory_order_acq_rel,
                                              platform::memory_order_relaxed)) {
          return {slot, offset};
        }
      }
    }
  }

  // Closes the group, under the log's lock, which also guards the pool. Returns the group's length.
  uint64_t close(Slot& slot) {
    Slot* fresh;
    do {
      fresh = &pool_[next_++ % pool_.size()];
    } while (fresh->state.load(platform::memory_order_acquire) != kFree);
    fresh->index = slot.index;
    fresh->state.store(kReady, platform::memory_order_release);
    array_[slot.index].store(fresh, platform::memory_order_release);
    const int64_t open = slot.state.exchange(kPending, platform::memory_order_acq_rel);
    LJ_ASSERT(open > kReady);
    return static_cast<uint64_t>(open - kReady);
  }
  // Tells the members that the group has `region`, whose length is the result of close().
  void notify(Slot& slot, const Region& region) {
    LJ_ASSERT(slot.state.load(platform::memory_order_relaxed) == kPending);
    slot.region = region;
    slot.state.store(kDone - static_cast<int64_t>(region.end - region.begin),
                     platform::memory_order_release);
    slot.members.notify();
  }
  Region wait(Slot& slot) {
    slot.members.await([&] { return slot.state.load(platform::memory_order_acquire) <= kDone; });
    return slot.region;
  }

  // Leaves the group. Returns true to the last member, which calls free() and releases the region.
  bool leave(Slot& slot, uint64_t bytes) {
    const auto amount = static_cast<int64_t>(bytes);
    const int64_t left = slot.state.fetch_add(amount, platform::memory_order_acq_rel) + amount;
    LJ_ASSERT(left <= kDone);
    return left == kDone;
  }
  void free(Slot& slot) {
    LJ_ASSERT(slot.state.load(platform::memory_order_relaxed) == kDone);
    slot.state.store(kFree, platform::memory_order_release);
  }

 private:
  static constexpr int64_t kReady = 0, kPending = -1, kFree = -2, kDone = -3;

  const uint64_t max_group_bytes_;
  std::vector<platform::atomic<Slot*>> array_;
  std::vector<Slot> pool_;
  alignas(platform::kCacheLine) uint64_t next_ = 0;  // index in the pool; under the log's lock
};

}  // namespace logjam
