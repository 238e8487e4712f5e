// The common part of trackers that find SBL from a word of each worker:
//
//   HerdFlags   the earliest begin of the worker's hole, or the end of its last record
//   EpochSlots  the epoch in which the worker drew its position
//   DirtyEnds   the end of the worker's last record, and whether the worker has a hole
//
// The fetch-and-add is a worker's only atomic operation, and its only write to a line that other
// workers write. A thread that looks reads one line per worker, however many records there were.
//
// Protocol. A word's worker stores it (release); the thread that looks loads it (acquire):
//   announce     before the worker draws a position from the sequencer `next`
//   must_wait    after the draw, if the ring has no room: stores kOpen and the hole's begin
//   publish      the hole is filled
// The thread that looks first loads `next` (acquire), its *cutoff*, and then the words.
//
// Why a look misses no hole. Workers add to `next` by read-modify-writes (release), which continue
// each other's release. So no fence is necessary on either side:
//
//   the hole begins        the thread that looks sees
//   before the cutoff      the word of the hole's announcement, or a later word of that worker;
//                          with the word of its publish or of a later record, also the hole's bytes
//   at or after it         perhaps nothing: the hole does not count
//
// If the thread loaded the words before `next`, it would miss a hole that is announced and drawn in
// between.
//
// Why must_wait. The word that a worker stores before it draws the hole cannot say where the hole
// begins. So SBL stops before the hole, perhaps a whole ring before it if other workers have
// reserved the ring. If the worker then waited for room, the flush that makes room would wait for
// the worker. With must_wait, SBL reaches the first hole, whatever the other words say. The ring is
// longer than the longest record, so the first hole gets room.
#pragma once

#include "logging/schemes/common/tracker_base.h"
#include "logging/schemes/common/worker_states.h"
#include "platform/assert.h"

namespace logjam {

class WorkerWords : public TrackerBase {
 public:
  // Says that the worker's hole begins at `begin`, and that the worker waits for room.
  void must_wait(uint32_t worker, uint64_t begin) {
    LJ_ASSERT(begin < kOpen);
    store(worker, kOpen | begin);
  }

 protected:
  static constexpr uint64_t kOpen = uint64_t{1} << 63;
  static constexpr uint64_t kNoHole = ~kOpen;  // larger than every position

  explicit WorkerWords(uint32_t workers) : words_(workers) {}

  void store(uint32_t worker, uint64_t word) {
    words_[worker].store(word, platform::memory_order_release);
  }
  uint64_t own(uint32_t worker) const {
    return words_[worker].load(platform::memory_order_relaxed);
  }
  // Calls `look(word)` for each worker. Any thread may call it, after it has loaded its cutoff.
  template <class Look>
  void for_each_word(const Look& look) const {
    for (uint32_t worker = 0; worker < words_.size(); ++worker) {
      look(words_[worker].load(platform::memory_order_acquire));
    }
  }

 private:
  WorkerStates<platform::atomic<uint64_t>> words_;
};

}  // namespace logjam
