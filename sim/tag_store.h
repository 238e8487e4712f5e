// The tags of a set-associative cache: the lines that it holds, and which of them it may write.
//
// A tag is a line's number and, in its lowest bit, whether the core may store to the line without a
// request to other cores (MESI: modified or exclusive). Only the one host thread uses these
// objects.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "sim/region.h"

namespace logjam::sim {

class TagStore {
 public:
  static constexpr uint32_t kEmpty = ~uint32_t{0};

  // Makes a cache of `bytes`; 0: one that holds nothing. The number of sets is rounded down to a
  // power of two.
  TagStore(uint64_t bytes, uint32_t ways) : ways_(ways) {
    const uint64_t sets = bytes / kLineBytes / ways;
    if (sets == 0) return;
    mask_ = static_cast<uint32_t>(std::bit_floor(sets) - 1);
    tags_.assign((mask_ + size_t{1}) * ways, kEmpty);
  }

  bool holds_nothing() const { return tags_.empty(); }

  // Returns whether the line is the most recent one of its set, and writable if `write`. A touch
  // of such a line changes nothing.
  bool is_most_recent(uint32_t line, bool write) const {
    const uint32_t tag = *first_of_set(line);
    return (write ? tag : tag | 1) == (line << 1 | 1);
  }

  // Returns whether the line is there, and writable if `write`. If so, makes it the most recent one
  // of its set.
  bool touch(uint32_t line, bool write) {
    uint32_t* set = set_of(line);
    const uint32_t writable = line << 1 | 1;
    if (set[0] == writable || (!write && set[0] == (writable ^ 1))) return true;
    for (uint32_t way = 1; way < ways_; ++way) {
      const uint32_t tag = set[way];
      if ((tag | 1) != writable) continue;
      if (write && tag != writable) return false;
      for (uint32_t later = way; later > 0; --later) set[later] = set[later - 1];
      set[0] = tag;
      return true;
    }
    return false;
  }

  // Puts the line in, as the most recent one of its set. Returns the line that had to leave, or
  // kNoLine.
  uint32_t insert(uint32_t line, bool writable) {
    uint32_t* set = set_of(line);
    uint32_t way = ways_ - 1;
    for (uint32_t other = 0; other < ways_; ++other) {
      if (set[other] >> 1 == line) {
        way = other;
        break;
      }
      if (set[other] == kEmpty) way = other;
    }
    const uint32_t left = set[way];
    for (; way > 0; --way) set[way] = set[way - 1];
    set[0] = line << 1 | static_cast<uint32_t>(writable);
    return left == kEmpty || left >> 1 == line ? kNoLine : left >> 1;
  }

  // Returns the first tag of the line's set.
  const uint32_t* first_of_set(uint32_t line) const { return tags_.data() + offset_of_set(line); }
  // Returns the least recent line of that set, which leaves when this line is put in and no way is
  // empty. If the last way is empty, returns a number that no line has.
  uint32_t oldest(uint32_t line) const { return first_of_set(line)[ways_ - 1] >> 1; }

  // Returns whether the line is there, and changes nothing.
  bool has(uint32_t line) const {
    if (tags_.empty()) return false;
    const uint32_t* set = first_of_set(line);
    return std::any_of(set, set + ways_, [&](uint32_t tag) { return tag >> 1 == line; });
  }

  void remove(uint32_t line) {
    if (uint32_t* tag = find(line)) *tag = kEmpty;
  }
  // Keeps the line, but makes the next store to it ask other cores.
  void make_read_only(uint32_t line) {
    if (uint32_t* tag = find(line)) *tag &= ~uint32_t{1};
  }

 private:
  size_t offset_of_set(uint32_t line) const { return size_t{line & mask_} * ways_; }
  uint32_t* set_of(uint32_t line) { return tags_.data() + offset_of_set(line); }
  uint32_t* find(uint32_t line) {
    if (tags_.empty()) return nullptr;
    uint32_t* set = set_of(line);
    for (uint32_t way = 0; way < ways_; ++way) {
      if (set[way] >> 1 == line) return set + way;
    }
    return nullptr;
  }

  uint32_t ways_;
  uint32_t mask_ = 0;
  std::vector<uint32_t> tags_;
};

}  // namespace logjam::sim
