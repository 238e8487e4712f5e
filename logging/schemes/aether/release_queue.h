// Delegated buffer release (Aether, section 5.2, Alg. 5, A.6). A thread that has filled its region
// while an earlier region is not filled yet does not wait. It leaves the release of its region to
// the owner of the earlier region.
//
// The queue holds a node for each acquired region, in LSN order. The paper links the nodes, as an
// MCS lock does. Here the nodes lie in a ring, in the order of joining. The successor of a node is
// the next node of the ring, whether or not it has joined. So there is no race between the last
// node that leaves and a new node that joins.
//
// Protocol. The owner of a node and the thread that releases the node's predecessor meet at the
// node's word `state`:
//
//   free       the node has not joined
//   waiting    the node has joined, and some region before it is not released
//   delegated  the owner has left: the thread that releases the predecessor releases this node too
//   its turn   all regions before it are released: the owner, or the thread that will join with
//              this node, releases it
//
//   join       free -> waiting, CAS (under the log's lock); fails if the state is "its turn"
//              already
//   delegate   waiting -> delegated, CAS (release: the region is filled); fails if the state is
//              "its turn"
//   hand off   any state -> its turn, exchange, by the thread that released the predecessor. If the
//              state was delegated, the same thread continues with this node.
//
// So one thread at a time has the turn, and only that thread stores `filled_` and `released_`. It
// gets the turn by an acquire of `state`, so it sees the fills of all earlier regions. Before it
// hands off, it frees its node: it stores "free", and then `released_` (release). The thread that
// joins with this node one lap later waits for that value of `released_` (acquire) before it
// touches the node. Nodes are freed in order, as the ring's space is.
#pragma once

#include <cstdint>
#include <vector>

#include "logging/schemes/aether/release.h"
#include "platform/atomic.h"
#include "platform/event_count.h"

namespace logjam {

class ReleaseQueue {
 public:
  static constexpr bool kDecoupled = true;
  static constexpr uint32_t kTreadmill = 32;

  // Makes a queue of `nodes`. With probability 1 / `treadmill` a node is not delegated, so that no
  // thread releases for others for ever. With 1, no node is delegated.
  explicit ReleaseQueue(uint32_t nodes = 1024, uint32_t treadmill = kTreadmill);

  // Returns the stream position up to which all regions are released. Any thread may call it.
  uint64_t filled() const { return filled_.load(platform::memory_order_acquire); }

  // Returns the number of a node for the region that ends at `end`. Waits if all nodes are in use.
  // Called under the log's lock.
  uint64_t join(uint64_t end);
  // Releases the region or delegates its release to another thread; returns false if it delegates.
  // Called by the thread that filled the region's last byte.
  bool release(const Region& region, uint64_t random);
  // Wakes the threads that wait for a free node. Called after a full fence.
  void after_published() { room_.notify_after_fence(); }

 private:
  enum State : uint32_t { kFree, kWaiting, kDelegated, kItsTurn };
  struct alignas(platform::kCacheLine) Node {
    platform::atomic<uint32_t> state{kFree};
    uint64_t end = 0;  // the end of the region; stored by the thread that joins
  };

  Node& node(uint64_t number) { return nodes_[number & mask_]; }
  void release_from(uint64_t number);

  std::vector<Node> nodes_;
  const uint64_t mask_;
  const uint64_t treadmill_mask_;
  // Under the log's lock: the number of nodes so far, and a value of `released_`, which saves a
  // load.
  alignas(platform::kCacheLine) uint64_t joined_ = 0;
  uint64_t released_seen_ = 0;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> filled_{0};
  platform::atomic<uint64_t> released_{0};  // how many nodes are released
  alignas(platform::kCacheLine) platform::EventCount turn_;
  alignas(platform::kCacheLine) platform::EventCount room_;
};

}  // namespace logjam
