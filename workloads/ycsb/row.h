// What a YCSB row (or column) holds: enough to tell later that it is whole and where it belongs.
//
//   field := stamp, stamp + 1, stamp + 2, ... , check
//
// in words of 8 bytes (4 below 16 bytes, 2 below 8; the check overlaps the last counted word if the
// size is no multiple). The stamp is the writer's, the check mixes it with the field's owner. So a
// field torn between two writers, or written under another key, does not verify, and writing one
// costs what a memset does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "workloads/random.h"

namespace logjam::ycsb {

template <class Word>
inline void fill_words(std::byte* field, size_t bytes, uint64_t owner, uint64_t stamp) {
  const size_t words = bytes / sizeof(Word);
  for (size_t i = 0; i < words; ++i) {
    const Word word = static_cast<Word>(stamp + i);
    std::memcpy(field + i * sizeof(Word), &word, sizeof(Word));
  }
  const Word check = static_cast<Word>(mix64(owner ^ mix64(static_cast<Word>(stamp))));
  std::memcpy(field + bytes - sizeof(Word), &check, sizeof(Word));
}

inline void fill_field(std::byte* field, size_t bytes, uint64_t owner, uint64_t stamp) {
  if (bytes >= 16) {
    fill_words<uint64_t>(field, bytes, owner, stamp);
  } else if (bytes >= 8) {
    fill_words<uint32_t>(field, bytes, owner, stamp);
  } else {
    fill_words<uint16_t>(field, bytes, owner, stamp);
  }
}

// The stamp of a field, which is all there is to know about it; low bits only in small fields.
inline uint64_t stamp_of(const std::byte* field, size_t bytes) {
  uint64_t stamp = 0;
  std::memcpy(&stamp, field, bytes >= 16 ? 8 : bytes >= 8 ? 4 : 2);
  return stamp;
}

// The first byte that contradicts the field's own stamp, or `bytes` if it is whole. `scratch` has
// room for `bytes`.
inline size_t first_wrong_byte(const std::byte* field, size_t bytes, uint64_t owner,
                               std::byte* scratch) {
  fill_field(scratch, bytes, owner, stamp_of(field, bytes));
  size_t i = 0;
  if (std::memcmp(field, scratch, bytes) == 0) return bytes;
  while (field[i] == scratch[i]) ++i;
  return i;
}

// Reads every byte.
inline uint64_t sum_field(const std::byte* field, size_t bytes) {
  uint64_t sum = 0, word = 0;
  size_t at = 0;
  for (; at + 8 <= bytes; at += 8) {
    std::memcpy(&word, field + at, 8);
    sum += word;
  }
  word = 0;
  std::memcpy(&word, field + at, bytes - at);
  return sum + word;
}

}  // namespace logjam::ycsb
