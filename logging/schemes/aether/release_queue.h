// Delegated buffer release (Aether, section 5.2, Alg. 5, A.6). A thread that has filled its region
// looks whether the preceding region is released. If not, the thread leaves the release of its own
// region to the thread that will release the preceding region.
//
// The queue holds a node for each acquired region, in LSN order. The paper links the nodes, as an
// MCS lock does. Here the nodes lie in a ring, and a node's successor is the next node of the ring,
// even if that node has not joined. So the last node can leave without a race with a joining node.
//
// Protocol. A node's owner and the thread that releases the node's predecessor meet at `state`:
//
//   free       the node has not joined
//   waiting    the node has joined, and an earlier region is not released
//   delegated  the owner has left: the thread that releases the predecessor releases this node too
//   its turn   all earlier regions are released: the owner, or the thread that will join with this
//              node, releases this node's region
//
//   join       free -> waiting, CAS (under the log's lock); fails if the state is "its turn"
//   delegate   waiting -> delegated, CAS (release, after the fill); fails in the state "its turn"
//   hand off   any state -> its turn, exchange, by the thread that released the predecessor. If the
//              state was delegated, the same thread continues with this node.
//
// So one thread at a time has the turn, and only that thread stores `filled_` and `released_`. It
// gets the turn by an acquire of `state`, so it sees the fills of all earlier regions. Before it
// hands off, it frees its node: it stores "free", and then `released_` (release). The thread that
// joins with this node one lap later waits for that value of `released_` (acquire).
#pragma once

#include <bit>
#include <vector>

#include "logging/schemes/aether/release.h"

namespace logjam {

class ReleaseQueue {
 public:
  static constexpr bool kDecoupled = true;
  static constexpr uint32_t kTreadmill = 32;

  // Makes a queue that refuses to delegate a node with probability 1 / `treadmill`, so that no
  // thread releases for other threads for ever.
  explicit ReleaseQueue(uint32_t nodes = 1024, uint32_t treadmill = kTreadmill)
      : nodes_(nodes), mask_(nodes - 1), treadmill_mask_(treadmill - 1) {
    LJ_ASSERT(nodes >= 2 && std::has_single_bit(nodes) && std::has_single_bit(treadmill));
    nodes_[0].state.store(kItsTurn, platform::memory_order_relaxed);
  }

  uint64_t filled() const { return filled_.load(platform::memory_order_acquire); }

  // Returns the number of a node for the region that ends at `end`. Waits if all nodes are in use.
  uint64_t join(uint64_t end) {
    const uint64_t number = joined_++;
    if (number > released_seen_ + mask_) {
      room_.await([&] {
        released_seen_ = released_.load(platform::memory_order_acquire);
        return number <= released_seen_ + mask_;
      });
    }
    Node& mine = node(number);
    mine.end = end;
    uint32_t seen = kFree;
    mine.state.compare_exchange_strong(seen, kWaiting, platform::memory_order_acq_rel,
                                       platform::memory_order_acquire);
    LJ_ASSERT(seen == kFree || seen == kItsTurn);
    return number;
  }
  bool release(const Region& region, uint64_t random) {
    Node& mine = node(region.node);
    uint32_t seen = mine.state.load(platform::memory_order_acquire);
    LJ_ASSERT((seen == kWaiting || seen == kItsTurn) && mine.end == region.end);
    if (seen == kWaiting && (random & treadmill_mask_) != 0 &&
        mine.state.compare_exchange_strong(seen, kDelegated, platform::memory_order_acq_rel,
                                           platform::memory_order_acquire)) {
      return false;
    }
    turn_.await([&] { return mine.state.load(platform::memory_order_acquire) == kItsTurn; });
    release_from(region.node);
    return true;
  }
  void after_publish() { room_.notify_after_fence(); }

 private:
  enum State : uint32_t { kFree, kWaiting, kDelegated, kItsTurn };
  struct alignas(platform::kCacheLine) Node {
    platform::atomic<uint32_t> state{kFree};
    uint64_t end = 0;  // the end of the region; stored by the thread that joins
  };

  Node& node(uint64_t number) { return nodes_[number & mask_]; }

  void release_from(uint64_t number) {
    uint32_t next = kDelegated;
    for (; next == kDelegated; ++number) {
      Node& mine = node(number);
      LJ_ASSERT(mine.end > filled_.load(platform::memory_order_relaxed));
      filled_.store(mine.end, platform::memory_order_release);
      mine.state.store(kFree, platform::memory_order_relaxed);
      released_.store(number + 1, platform::memory_order_release);
      next = node(number + 1).state.exchange(kItsTurn, platform::memory_order_acq_rel);
      LJ_ASSERT(next != kItsTurn);
    }
    if (next == kWaiting) turn_.notify();
  }

  std::vector<Node> nodes_;
  const uint64_t mask_;
  const uint64_t treadmill_mask_;
  // Used under the log's lock: how many nodes have joined, and the last loaded `released_`.
  alignas(platform::kCacheLine) uint64_t joined_ = 0;
  uint64_t released_seen_ = 0;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> filled_{0};
  platform::atomic<uint64_t> released_{0};  // how many nodes are released
  alignas(platform::kCacheLine) platform::EventCount turn_;
  alignas(platform::kCacheLine) platform::EventCount room_;
};

}  // namespace logjam
