// The contexts whose fibers are ready to run and do not run now, by their clocks: the one that goes
// first is at the top. Equal clocks go by the context's number.
//
// The scheduler comes here at every switch, so each entry has its clock beside it, and the running
// context changes places with the first one in one walk. A context's clock stands while it is here.
// Only the one host thread uses these objects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/machine.h"

namespace logjam::sim {

class Cpu;

class ClockHeap {
 public:
  struct Entry {
    Picoseconds now;
    uint64_t number;
    Cpu* cpu;

    bool goes_before(const Entry& other) const {
      // Without a branch: which of two clocks is behind cannot be predicted.
      return (now < other.now) | ((now == other.now) & (number < other.number));
    }
  };

  // Room for so many contexts. What grows later would take memory in the middle of a run.
  explicit ClockHeap(size_t contexts) { entries_.reserve(contexts); }

  bool empty() const { return entries_.empty(); }
  const Entry& first() const { return entries_.front(); }

  void push(const Entry& entry) {
    size_t at = entries_.size();
    entries_.push_back(entry);
    for (; at > 0 && entry.goes_before(entries_[(at - 1) / 2]); at = (at - 1) / 2) {
      entries_[at] = entries_[(at - 1) / 2];
    }
    entries_[at] = entry;
  }

  // Takes the first one out.
  Cpu* pop() {
    Cpu* cpu = entries_.front().cpu;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (!entries_.empty()) put_from_top(last);
    return cpu;
  }

  // pop(), then push(entry).
  Cpu* replace_first(const Entry& entry) {
    Cpu* cpu = entries_.front().cpu;
    put_from_top(entry);
    return cpu;
  }

 private:
  // The top is free, and the entry goes where it belongs below.
  void put_from_top(const Entry& entry) {
    const size_t size = entries_.size();
    size_t at = 0;
    for (size_t child = 1; child < size; child = 2 * at + 1) {
      child += child + 1 < size && entries_[child + 1].goes_before(entries_[child]) ? 1 : 0;
      if (!entries_[child].goes_before(entry)) break;
      entries_[at] = entries_[child];
      at = child;
    }
    entries_[at] = entry;
  }

  std::vector<Entry> entries_;
};

}  // namespace logjam::sim
