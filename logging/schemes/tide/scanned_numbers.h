// The rule of `tide-scanned`: the thread that writes scans the words of its stream's workers. A
// word has the worker's last number, and whether the worker has an open record. The scan raises the
// numbers of workers without an open record to the floor, so workers read no floor.
//
// Protocol. Words change by read-modify-writes, except that the worker of an open word stores it.
//   the worker                                  the thread that writes stream s
//   W1  opens its word, which holds v           L1  chooses a floor F
//   W2  draws a number above v                  L2  scans the workers of s: raises closed words
//   W3  takes the record's place (acquire)          below F to F. C is the least of F and of the
//   W4  fills the record, closes its word           numbers in open words
//       with its number (release)               L3  takes the watermark's place (release)
//
// Claim: each record of s with a number n up to C lies before the watermark of C. Proof: consider
// where L2's last access lies in the order of the word's values. Before W1: the word has F or more
// then, so v is at least F, and n would exceed F. Between W1 and W4: the word is open and has v, so
// C is at most v, and n would exceed C. After W4: L2 has acquired what W4 released, so W3 happened
// before L3. Places are taken by read-modify-writes of one word, so the record lies before the
// watermark.
//
// There is no fence: one word orders both threads. The worker pays for this with one more
// read-modify-write, and each scan takes the workers' cache lines away.
//
// An open record holds a watermark back. The publish wakes the thread that writes.
#pragma once

#include <utility>

#include "logging/schemes/common/floors.h"
#include "logging/schemes/common/worker_states.h"
#include "logging/schemes/tide/watermark_rule.h"

namespace logjam {

class ScannedNumbers {
 public:
  ScannedNumbers(uint32_t workers, WorkersOfStreams streams)
      : floors_(static_cast<uint32_t>(streams.size())),
        streams_(std::move(streams)),
        words_(workers) {}

  template <class TakePlace>
  auto reserve(uint32_t /*stream*/, uint32_t worker, uint64_t above, const TakePlace& take_place) {
    const uint64_t last = words_[worker].fetch_or(kOpen, platform::memory_order_acquire) >> 1;
    return std::pair(std::max(above, last) + 1, take_place());
  }
  void publish(uint32_t worker, uint64_t number) {
    words_[worker].store(closed(number), platform::memory_order_release);
  }

  uint64_t begin_watermark(uint32_t stream, uint64_t /*last*/) { return floors_.raise(stream); }
  uint64_t complete(uint32_t stream, uint64_t goal) {
    uint64_t complete = goal;
    for (const uint32_t worker : streams_[stream]) {
      Word& word = words_[worker];
      uint64_t seen = word.load(platform::memory_order_acquire);
      while (seen < closed(goal) && (seen & kOpen) == 0 &&
             !word.compare_exchange_weak(seen, closed(goal), platform::memory_order_acquire)) {
      }
      if ((seen & kOpen) != 0) complete = std::min(complete, seen >> 1);
    }
    return complete;
  }

 private:
  using Word = platform::atomic<uint64_t>;
  static constexpr uint64_t kOpen = 1;
  static uint64_t closed(uint64_t number) { return number << 1; }

  Floors floors_;
  const WorkersOfStreams streams_;
  WorkerStates<Word> words_;
};

}  // namespace logjam
