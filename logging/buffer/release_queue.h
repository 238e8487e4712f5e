// Delegated buffer release (Aether, section 5.2, Alg. 5, A.6): who has filled a region behind one
// that is not filled yet does not wait for it, but leaves the release to that one's owner.
//
// The queue holds a node for each acquired region, in LSN order. The paper links the nodes, as an
// MCS lock does. Here they lie in a ring, in order of joining: a node's successor is the next one,
// joined or not, so the race between the last node leaving and a new one joining does not exist.
//
// Protocol. `state` is the word that a node's owner and its predecessor's releaser meet at:
//
//   free       not joined
//   waiting    joined; somebody before it is not released
//   delegated  its owner is gone: whoever releases its predecessor releases it too
//   its turn   all before it are released: its owner, or the joiner to come, releases it
//
//   join       free -> waiting, CAS (under the log's lock); fails if it is its turn already
//   delegate   waiting -> delegated, CAS (release: the region is filled); fails if it is its turn
//   hand off   any -> its turn, exchange, by the one that released the predecessor. If it was
//              delegated the same thread goes on with it.
//
// So one thread at a time has the turn, and it alone stores `filled_` and `released_`. It has the
// turn by an acquire of `state`, behind which lie the fills of all before. Before it hands off it
// frees the node: back to free, then `released_` (release), without which the joiner one lap later
// does not touch the node. The joiner waits for that (acquire): as the ring's space, nodes come
// back in order.
#pragma once

#include <cstdint>
#include <vector>

#include "logging/buffer/gate.h"
#include "logging/buffer/release.h"
#include "platform/atomic.h"

namespace logjam {

class ReleaseQueue {
 public:
  static constexpr bool kDecoupled = true;
  static constexpr uint32_t kTreadmill = 32;

  // `nodes` is a power of two, at least 2. With probability 1 / `treadmill` (a power of two) a node
  // is not delegated, so that nobody works for others for ever; 1: none is.
  explicit ReleaseQueue(uint32_t nodes = 1024, uint32_t treadmill = kTreadmill);

  uint64_t filled() const { return filled_.load(platform::memory_order_acquire); }

  // Under the log's lock: a node for the region that ends at `end`. Waits if all nodes are in use.
  uint64_t join(uint64_t end);
  // The region is filled. Returns false if its release was delegated.
  bool release(const Region& region, uint64_t random);
  void after_published() { room_.notify_behind_fence(); }

 private:
  enum State : uint32_t { kFree, kWaiting, kDelegated, kItsTurn };
  struct alignas(platform::kCacheLine) Node {
    platform::atomic<uint32_t> state{kFree};
    uint64_t end = 0;  // stored by the joiner
  };

  Node& node(uint64_t number) { return nodes_[number & mask_]; }
  void release_from(uint64_t number);

  std::vector<Node> nodes_;
  const uint64_t mask_;
  const uint64_t treadmill_mask_;
  alignas(platform::kCacheLine) uint64_t joined_ = 0;  // under the log's lock
  alignas(platform::kCacheLine) platform::atomic<uint64_t> filled_{0};
  platform::atomic<uint64_t> released_{0};  // nodes
  alignas(platform::kCacheLine) Gate turn_;
  Gate room_;
};

}  // namespace logjam
