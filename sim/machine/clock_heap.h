// The contexts whose fibers are ready but do not run now, ordered by clock and, for equal clocks,
// by number. The heap is fast, because the scheduler uses it at every switch: an entry has a copy
// of its context's clock, and one walk replaces the first context by the running context
// (std::priority_queue needs two walks). Only the one host thread uses these objects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "platform/assert.h"
#include "sim/machine/machine.h"

namespace logjam::sim {

class Cpu;

class ClockHeap {
 public:
  struct Entry {
    Picoseconds now;
    uint64_t number;
    Cpu* cpu;

    bool goes_before(const Entry& other) const {
      // No branch: it could not be predicted.
      return (now < other.now) | ((now == other.now) & (number < other.number));
    }
  };

  // Reserves memory for `contexts` entries, so that the heap takes no memory during a run.
  explicit ClockHeap(size_t contexts) { keys_.reserve(contexts); }

  bool empty() const { return keys_.empty(); }
  Entry first() const { return entry_of(keys_.front()); }

  void push(const Entry& entry) {
    LJ_ASSERT(keys_.size() < keys_.capacity());
    const Key key = key_of(entry);
    size_t at = keys_.size();
    keys_.push_back(key);
    for (; at > 0 && key < keys_[(at - 1) / 2]; at = (at - 1) / 2) keys_[at] = keys_[(at - 1) / 2];
    keys_[at] = key;
  }

  // Returns whether `check` returns true for each entry, and no entry is smaller than its parent.
  template <class Check>
  bool is_ordered(const Check& check) const {
    for (size_t at = 0; at < keys_.size(); ++at) {
      if (!check(entry_of(keys_[at]))) return false;
      if (at > 0 && keys_[at] < keys_[(at - 1) / 2]) return false;
    }
    return true;
  }

  Cpu* pop() {
    LJ_ASSERT(!empty());
    Cpu* cpu = first().cpu;
    const Key last = keys_.back();
    keys_.pop_back();
    if (!keys_.empty()) put_from_top(last);
    return cpu;
  }

  // Replaces the first entry by `entry`, and returns the context of the first entry.
  Cpu* replace_first(const Entry& entry) {
    LJ_ASSERT(!empty());
    Cpu* cpu = first().cpu;
    put_from_top(key_of(entry));
    return cpu;
  }

 private:
  // An entry as one number, for one comparison: the clock, the context's number, the Cpu's address.
  __extension__ using Key = unsigned __int128;
  static constexpr int kAddressBits = 48;

  static Key key_of(const Entry& entry) {
    LJ_ASSERT(reinterpret_cast<uintptr_t>(entry.cpu) >> kAddressBits == 0);
    LJ_ASSERT(entry.number >> (64 - kAddressBits) == 0);
    return Key{entry.now} << 64 | entry.number << kAddressBits |
           reinterpret_cast<uintptr_t>(entry.cpu);
  }
  static Entry entry_of(Key key) {
    const auto low = static_cast<uint64_t>(key);
    return {static_cast<Picoseconds>(key >> 64), low >> kAddressBits,
            reinterpret_cast<Cpu*>(low & ((uint64_t{1} << kAddressBits) - 1))};
  }

  // Moves `key` from the free top down to its position.
  void put_from_top(Key key) {
    const size_t size = keys_.size();
    size_t at = 0;
    for (size_t child = 1; child < size; child = 2 * at + 1) {
      child += child + 1 < size && keys_[child + 1] < keys_[child] ? 1 : 0;
      if (key <= keys_[child]) break;
      keys_[at] = keys_[child];
      at = child;
    }
    keys_[at] = key;
  }

  std::vector<Key> keys_;
};

}  // namespace logjam::sim
