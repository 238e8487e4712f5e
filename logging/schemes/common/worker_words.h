// The common part of the trackers that keep a word for each worker and look at all words to find
// SBL. They differ in what a word says, and in what the words of all workers say together:
//
//   HerdFlags   where the worker's hole begins at the earliest, or its last record ended
//   EpochSlots  in which epoch the worker drew its position
//   DirtyEnds   where the worker's last record ended, and whether the worker has a hole
//
// A worker does no atomic operation but the fetch-and-add, and writes no line that other workers
// write. A thread that looks reads one line per worker, however many records there were.
//
// Protocol. Only its worker stores a word (release), at three moments; the thread that looks loads
// it (acquire):
//   announce     before the worker draws a position from the sequencer `next`
//   must_wait    after that, if the ring has no room for the hole: the word is then kOpen and where
//                the hole begins
//   publish      the hole is filled
// The thread that looks loads `next` (acquire) first; call the value its *cutoff*. Then it loads
// the words.
//
// Why a look misses no hole. Workers add to `next` by read-modify-writes (release), which continue
// each other's release. So a thread whose cutoff counts a hole sees what the worker announced
// before it drew that hole, or a word that the worker stored later. If the later word is that of
// the publish, or of any record after it, the thread also sees the bytes of the hole. A hole that
// the cutoff does not count begins at the cutoff or after it. No fence is necessary on either side.
// In the other order, the words first, a hole may be announced and drawn between the two looks.
//
// Why must_wait. A word that is stored before the hole is drawn cannot say where the hole begins. A
// look stops at a place before the hole, at any distance: other workers may have reserved the rest
// of the ring meanwhile. If the worker then waited for room, the flush that makes room would wait
// for that worker. With must_wait, SBL reaches the first hole, whatever the other words say, and
// the ring is longer than the longest record, so the first hole gets room.
#pragma once

#include <cstdint>

#include "logging/schemes/common/tracker_base.h"
#include "logging/schemes/common/worker_states.h"
#include "platform/assert.h"
#include "platform/atomic.h"

namespace logjam {

class WorkerWords : public TrackerBase {
 public:
  // Says that the worker, which has drawn its hole, waits for room, and where the hole begins.
  // Called by the worker.
  void must_wait(uint32_t worker, uint64_t begin) {
    LJ_ASSERT(begin < kOpen);
    store(worker, kOpen | begin);
  }

 protected:
  static constexpr uint64_t kOpen = uint64_t{1} << 63;
  static constexpr uint64_t kNoHole = ~kOpen;  // larger than every position

  explicit WorkerWords(uint32_t workers) : words_(workers) {}

  // Stores the worker's word. Called by the worker.
  void store(uint32_t worker, uint64_t word) {
    words_[worker].store(word, platform::memory_order_release);
  }
  // Returns the worker's word. Called by the worker.
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
