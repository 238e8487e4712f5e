// The consolidation array (Aether, section 5.1, Alg. 4, A.4, A.5): threads that find the log's lock
// busy form groups, and only the first of each group goes for the lock.
//
// Protocol. A slot's life is in one word, `state`, as in the paper's figure 17:
//
//   kReady + n   open: a group of n bytes so far, none if n is 0
//   kPending     closed; its leader acquires space for it
//   kDone - n    copying: n bytes are not filled yet; kDone: the last member is leaving
//   kFree        in the pool
//
//   join    CAS open -> open + bytes. Position 0 leads. Slots live as long as the array, so one
//           that held on to a slot while it was closed and reused joins the later group: no harm.
//   close   by the leader, under the log's lock, which also guards the pool: swaps a free slot in
//           (its `place`, then its state, then the array's pointer, each with release), and then
//           the state to kPending: after that nobody joins.
//   notify  `region`, then the state (release); members load the state (acquire), then `region`.
//   leave   fetch_add(bytes) (acq_rel): who reaches kDone is the last, and all other members'
//           fills and their reads of `region` happened before. It frees the slot.
//
// The pool has more slots than can be open or copying at once, so close() always finds one.
#pragma once

#include <cstdint>
#include <vector>

#include "logging/buffer/gate.h"
#include "logging/buffer/release.h"
#include "platform/atomic.h"

namespace logjam {

class ConsolidationArray {
 public:
  struct alignas(platform::kCacheLine) Slot {
    platform::atomic<int64_t> state;
    uint32_t place = 0;  // of the array; the leader's
    Region region;       // the group's
    Gate members;        // waiting for it
  };
  struct Position {
    Slot* slot;
    uint64_t offset;  // in the group's region; 0: the leader
  };

  // `members` threads use it. A group has at most `max_group_bytes`, unless it has one member.
  ConsolidationArray(uint32_t slots, uint32_t members, uint64_t max_group_bytes);

  // Joins some group, at a slot chosen by `random`.
  Position join(uint64_t bytes, uint64_t random);

  // The leader, under the log's lock: ends the group and returns how many bytes it wants.
  uint64_t close(Slot& slot);
  // The leader: the group has `region`, of as many bytes.
  void notify(Slot& slot, const Region& region);
  // Other members: the group's region.
  Region wait(Slot& slot);

  // A member has filled its bytes. True: it is the last one and must free the slot and release the
  // region (of which it has a copy).
  bool leave(Slot& slot, uint64_t bytes);
  void free(Slot& slot);

 private:
  static constexpr int64_t kReady = 0, kPending = -1, kFree = -2, kDone = -3;

  const uint64_t max_group_bytes_;
  std::vector<platform::atomic<Slot*>> array_;
  std::vector<Slot> pool_;
  alignas(platform::kCacheLine) uint64_t next_ = 0;  // of the pool; under the log's lock
};

}  // namespace logjam
