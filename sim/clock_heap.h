// The contexts whose fibers are ready but do not run now, in the order of their clocks: the next
// one to run is at the top. Equal clocks go by the context's number.
//
// The scheduler uses the heap at every switch, so each entry holds its clock, and the running
// context changes places with the first one in one walk. A context's clock does not move while the
// context is in the heap. Only the one host thread uses these objects.
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
      // Without a branch: nothing predicts which of two clocks is the earlier one.
      return (now < other.now) | ((now == other.now) & (number < other.number));
    }
  };

  // Makes room for `contexts` entries, so that the heap takes no memory in the middle of a run.
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

  // Returns whether `check` is true of each entry, and none goes before its parent.
  template <class Check>
  bool is_ordered(const Check& check) const {
    for (size_t at = 0; at < entries_.size(); ++at) {
      if (!check(entries_[at])) return false;
      if (at > 0 && entries_[at].goes_before(entries_[(at - 1) / 2])) return false;
    }
    return true;
  }

  // Takes the first entry out and returns its context.
  Cpu* pop() {
    Cpu* cpu = entries_.front().cpu;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (!entries_.empty()) put_from_top(last);
    return cpu;
  }

  // Takes the first entry out, puts `entry` in, and returns the first one's context.
  Cpu* replace_first(const Entry& entry) {
    Cpu* cpu = entries_.front().cpu;
    put_from_top(entry);
    return cpu;
  }

 private:
  // Moves `entry` from the free top down to its place.
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
