// The tags of a set-associative cache with least-recently-used replacement. A tag is a cache line's
// number and, in the lowest bit, whether the core may store to the line without a request to other
// cores (MESI: modified or exclusive). Only the one host thread uses these objects.
#pragma once

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "sim/region.h"

namespace logjam::sim {

class TagStore {
 public:
  static constexpr uint32_t kEmpty = ~uint32_t{0};

  // Rounds the number of sets down to a power of two. A cache of 0 bytes holds nothing.
  TagStore(uint64_t bytes, uint32_t ways) : ways_(ways) {
    const uint64_t sets = bytes / kLineBytes / ways;
    if (sets == 0) return;
    mask_ = static_cast<uint32_t>(std::bit_floor(sets) - 1);
    tags_.assign((mask_ + size_t{1}) * ways, kEmpty);
  }

  bool holds_nothing() const { return tags_.empty(); }
  // Returns the number of sets; 1 if the cache holds nothing.
  uint32_t sets() const { return mask_ + 1; }

  // Returns whether the line is the most recent one of its set and, if `write` is true, writable.
  // If so, touch() would change nothing.
  bool is_most_recent(uint32_t line, bool write) const {
    const uint32_t tag = *first_of_set(line);
    return (write ? tag : tag | 1) == (line << 1 | 1);
  }

  // Returns whether the cache has the line and, if `write` is true, whether the line is writable.
  // If so, makes the line the most recent one of its set.
  bool touch(uint32_t line, bool write) {
    uint32_t* set = set_of(line);
    const uint32_t writable = line << 1 | 1;
    if (set[0] == writable || (!write && set[0] == (writable ^ 1))) return true;
    const uint64_t found = ways_of(set, line);
    if (found == 0) return false;
    const auto way = static_cast<uint32_t>(std::countr_zero(found));
    const uint32_t tag = set[way];
    if (write && tag != writable) return false;
    make_room_at_front(set, way);
    set[0] = tag;
    return true;
  }

  // Inserts the line as the most recent one of its set. Returns the evicted line, or kNoLine.
  uint32_t insert(uint32_t line, bool writable) {
    uint32_t* set = set_of(line);
    const uint32_t way = way_for(set, line);
    const uint32_t left = set[way];
    make_room_at_front(set, way);
    set[0] = line << 1 | static_cast<uint32_t>(writable);
    return left == kEmpty || left >> 1 == line ? kNoLine : left >> 1;
  }

  const uint32_t* first_of_set(uint32_t line) const { return tags_.data() + offset_of_set(line); }
  // Returns the least recent line of the set. If the last way is empty, the number is no line's.
  uint32_t oldest(uint32_t line) const { return first_of_set(line)[ways_ - 1] >> 1; }

  bool has(uint32_t line) const {
    if (tags_.empty()) return false;
    return ways_of(first_of_set(line), line) != 0;
  }

  void remove(uint32_t line) {
    if (uint32_t* tag = find(line)) *tag = kEmpty;
  }
  void make_read_only(uint32_t line) {
    if (uint32_t* tag = find(line)) *tag &= ~uint32_t{1};
  }

 private:
  size_t offset_of_set(uint32_t line) const { return size_t{line & mask_} * ways_; }
  uint32_t* set_of(uint32_t line) { return tags_.data() + offset_of_set(line); }
  uint32_t* find(uint32_t line) {
    if (tags_.empty()) return nullptr;
    uint32_t* set = set_of(line);
    const uint64_t found = ways_of(set, line);
    return found == 0 ? nullptr : set + std::countr_zero(found);
  }

  // Returns a bit for each way of the set, which is 1 if the way has the line. The host compares
  // eight ways at once, because a branch could not be predicted.
  uint64_t ways_of(const uint32_t* set, uint32_t line) const {
    uint64_t ways = 0;
#ifdef __AVX2__
    if (ways_ >= kVector) {
      const __m256i wanted = _mm256_set1_epi32(static_cast<int>(line));
      for (uint32_t first = 0;; first = std::min(first + kVector, ways_ - kVector)) {
        const __m256i tags = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(set + first));
        const __m256i equal = _mm256_cmpeq_epi32(_mm256_srli_epi32(tags, 1), wanted);
        const auto bits = static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(equal)));
        ways |= uint64_t{bits} << first;
        if (first + kVector == ways_) return ways;
      }
    }
#endif
    for (uint32_t way = 0; way < ways_; ++way) ways |= uint64_t{set[way] >> 1 == line} << way;
    return ways;
  }

  // Returns the way for the line: the way that has the line, else an empty way, else the last way.
  uint32_t way_for(const uint32_t* set, uint32_t line) const {
    if (const uint64_t own = ways_of(set, line)) {
      return static_cast<uint32_t>(std::countr_zero(own));
    }
    if (set[ways_ - 1] == kEmpty) return ways_ - 1;
    const uint64_t empty = ways_of(set, kEmpty >> 1);
    return empty == 0 ? ways_ - 1 : static_cast<uint32_t>(std::bit_width(empty)) - 1;
  }

  // Moves each tag before `way` to the next way, so that the first way is free.
  void make_room_at_front(uint32_t* set, uint32_t way) const {
#ifdef __AVX2__
    if (ways_ >= kVector) {
      for (; way >= kVector; --way) {
        set[way] = set[way - 1];
        asm("" : "+r"(way));  // prevents unrolling, which would save registers at every touch
      }
      auto* first = reinterpret_cast<__m256i*>(set);
      const auto* order = reinterpret_cast<const __m256i*>(kMoved[way].data());
      _mm256_storeu_si256(
          first, _mm256_permutevar8x32_epi32(_mm256_loadu_si256(first), _mm256_loadu_si256(order)));
      return;
    }
#endif
    for (; way > 0; --way) set[way] = set[way - 1];
  }

  static constexpr uint32_t kVector = 8;  // tags that the host moves at once
  // For each `way`: the old position of the tag that moves to each of the first kVector ways.
  static constexpr auto kMoved = [] {
    std::array<std::array<uint32_t, kVector>, kVector> moved{};
    for (uint32_t way = 0; way < kVector; ++way) {
      for (uint32_t to = 0; to < kVector; ++to) moved[way][to] = to == 0 || to > way ? to : to - 1;
    }
    return moved;
  }();

  uint32_t ways_;
  uint32_t mask_ = 0;
  std::vector<uint32_t> tags_;
};

}  // namespace logjam::sim
