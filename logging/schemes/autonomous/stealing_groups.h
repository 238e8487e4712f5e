// The stealing groups of a stream, and the pieces that they move into its ring. This file says when
// a worker steals.
//
// Protocol. The groups' is in stealing_group.h, the ring's in log_pieces.h. One thread at a time
// calls take_all() and append(), which share `turn_` and a slot of the ring.
//
// Nobody sleeps in the face of records that are to be moved. unwritten() counts them from when they
// are handed over. A piece that a worker has closed is in filled() before that worker's publish
// looks for sleepers, or before the wait for room, which wakes the flusher.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "logging/counters.h"
#include "logging/schemes/autonomous/log_pieces.h"
#include "logging/schemes/autonomous/stealing_group.h"
#include "logging/stream/stream.h"

namespace logjam {

class StealingGroups {
 public:
  // Makes the groups of the `workers` workers that write to `stream`. A worker steals when it has
  // `steal_bytes`. `run` seeds the checksums.
  StealingGroups(Stream& stream, uint64_t run, uint32_t workers, uint64_t steal_bytes)
      : stream_(stream),
        steal_bytes_(steal_bytes),
        workers_(workers),
        pieces_(stream, run, workers + 1) {
    // The small records that fill all buffers fit into the ring.
    const uint64_t most = stream.ring().capacity() / (4 * (uint64_t{workers} + 1)) & ~uint64_t{7};
    for (uint32_t w = 0; w < workers; w += kMembers) {
      groups_.push_back(std::make_unique<StealingGroup>(std::min(kMostSteals * steal_bytes, most)));
    }
  }

  // Worker number `worker` of the stream calls the next three.

  // Opens a record of `bytes`. Returns its memory and its number, which draw() draws, and which is
  // at least `bound`; and how many ticks the worker has waited for room in the ring. The wait comes
  // before the draw, because other workers would wait for the number.
  struct Opened {
    std::byte* memory;
    uint64_t sequence, waited_ticks;
  };
  template <class Draw>
  Opened open(uint32_t worker, uint32_t bytes, uint64_t bound, const Draw& draw) {
    StealingGroup& group = group_of(worker);
    const uint32_t member = worker % kMembers;
    const uint64_t waited = make_room(worker, bytes);
    const uint64_t sequence = group.open(member, bound, draw);
    return {group.memory(member), sequence, waited};
  }
  // Hands the record over. Moves the worker's records to the log if they are many, or those of its
  // group if they are few; fewer still wait for a later write.
  void publish(uint32_t worker, uint32_t bytes) {
    StealingGroup& group = group_of(worker);
    group.publish(worker % kMembers, bytes);
    const uint64_t unwritten = group.unwritten(worker % kMembers);
    if (unwritten < steal_bytes_) return;
    const bool steals = unwritten < kAlone * steal_bytes_;
    group.steal(worker % kMembers, steals ? kMembers : 1, Piece(pieces_, worker));
  }

  // Returns how many bytes are handed over and not moved. Any thread may call it.
  uint64_t unwritten() const {
    uint64_t total = 0;
    for (const auto& group : groups_) total += group->unwritten();
    return total;
  }
  // Returns the position up to which the ring is filled. Any thread may call it.
  uint64_t filled() { return pieces_.filled(); }

  // Moves all that is handed over. Returns a number below which all records, present and future,
  // are in the ring; 0 if the ring has no room for all. Called by one thread at a time.
  uint64_t take_all() {
    uint64_t below = WorkerLog::kNone;
    const uint32_t first = turn_;
    for (uint32_t i = 0; i < workers_ && below != 0; ++i) {
      turn_ = (first + i) % workers_;
      const uint32_t member = turn_ % kMembers;
      below = std::min(below, group_of(turn_).take(member, false, Piece(pieces_, workers_)));
    }
    return below;
  }
  // Calls write(begin) for a hole of `bytes`, which follows all that was moved. Returns false if
  // the ring has no room for it. Called by one thread at a time.
  template <class Write>
  bool append(uint64_t bytes, const Write& write) {
    const uint64_t begin = pieces_.open(workers_, bytes);
    if (begin == LogPieces::kNoRoom) return false;
    write(begin);
    pieces_.close(workers_);
    return true;
  }

  Counters counters() const {
    Counters all;
    for (const auto& group : groups_) {
      all.add({{"stolen_pieces", static_cast<double>(group->stolen_pieces())},
               {"stolen_bytes", static_cast<double>(group->stolen_bytes())}});
    }
    return all;
  }

 private:
  static constexpr uint32_t kMembers = StealingGroup::kMembers;
  // A worker with this many times the bytes with which it steals moves its own records alone, and a
  // buffer has room for this many. The first is the paper's.
  static constexpr uint64_t kAlone = std::bit_width(kMembers), kMostSteals = 4 * kAlone;

  StealingGroup& group_of(uint32_t worker) { return *groups_[worker / kMembers]; }
  // Waits until the worker's buffer has room for a record. Returns for how many ticks.
  uint64_t make_room(uint32_t worker, uint32_t bytes) {
    StealingGroup& group = group_of(worker);
    uint64_t waited = 0;
    while (!group.fits(worker % kMembers, bytes)) {
      group.take(worker % kMembers, true, Piece(pieces_, worker));
      const uint64_t left = group.unwritten(worker % kMembers);
      if (left != 0) waited += stream_.wait_for_space(pieces_.reserved() + left);
    }
    return waited;
  }

  Stream& stream_;
  const uint64_t steal_bytes_;
  const uint32_t workers_;
  LogPieces pieces_;  // a slot for each worker, and one for take_all() and append()
  std::vector<std::unique_ptr<StealingGroup>> groups_;
  uint32_t turn_ = 0;  // the worker with which the next move begins
};

}  // namespace logjam
