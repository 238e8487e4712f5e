// The contents of a field. A YCSB row has ten fields or a single field. A field consists of words:
//
//   stamp, then check + 1, check + 2, check + 3, and so on; but the last word is check
//
// A word has 8 bytes, in fields below 16 bytes only 4, and in fields below 8 bytes only 2. If the
// size of a field is no multiple of the word size, the last word overlaps the word before it. The
// writer chooses the stamp. The check is a hash of the stamp and of `owner`, a number made of the
// row's key and the field's number in the row. So a new stamp changes all bytes, as an update in
// YCSB does. Verification fails for a field that has parts of two writes, or that was written under
// another key. To write a field costs as much as a memset.
#pragma once

#include <cstring>

#include "workloads/random.h"

namespace logjam::ycsb {

template <class Word>
inline void fill_words(std::byte* field, size_t bytes, uint64_t owner, uint64_t stamp) {
  const size_t words = bytes / sizeof(Word);
  const Word first = static_cast<Word>(stamp);
  const Word check = static_cast<Word>(mix64(owner ^ mix64(first)));
  std::memcpy(field, &first, sizeof(Word));
  for (size_t i = 1; i < words; ++i) {
    const Word word = static_cast<Word>(check + i);
    std::memcpy(field + i * sizeof(Word), &word, sizeof(Word));
  }
  std::memcpy(field + bytes - sizeof(Word), &check, sizeof(Word));
}

inline void fill_field(std::byte* field, size_t bytes, uint64_t owner, uint64_t stamp) {
  LJ_ASSERT_IN_TESTS(bytes >= 4);
  if (bytes >= 16) {
    fill_words<uint64_t>(field, bytes, owner, stamp);
  } else if (bytes >= 8) {
    fill_words<uint32_t>(field, bytes, owner, stamp);
  } else {
    fill_words<uint16_t>(field, bytes, owner, stamp);
  }
}

// Returns how many low bytes of its stamp a field of `bytes` bytes stores.
inline size_t stamp_bytes(size_t bytes) { return bytes >= 16 ? 8 : bytes >= 8 ? 4 : 2; }
inline uint64_t stamp_mask(size_t bytes) { return ~uint64_t{0} >> (64 - 8 * stamp_bytes(bytes)); }

inline uint64_t stamp_of(const std::byte* field, size_t bytes) {
  uint64_t stamp = 0;
  std::memcpy(&stamp, field, stamp_bytes(bytes));
  return stamp;
}

// Returns the index of the first byte that contradicts the field's stamp, or `bytes` if the field
// is whole. `scratch` has `bytes` bytes.
inline size_t first_wrong_byte(const std::byte* field, size_t bytes, uint64_t owner,
                               std::byte* scratch) {
  fill_field(scratch, bytes, owner, stamp_of(field, bytes));
  size_t i = 0;
  if (std::memcmp(field, scratch, bytes) == 0) return bytes;
  while (field[i] == scratch[i]) ++i;
  return i;
}

// Returns a sum over the field, so that each of its bytes is read.
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
