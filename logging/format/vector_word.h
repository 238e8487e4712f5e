// One entry of the LSN vector with which a record's body may end (logging/format/record.h): a
// stream, and a position in it. The record counts only if that stream has all records up to the
// position.
//
//   bits 0 to 46    the position / 8: the ends of records are multiples of 8
//   bits 47 to 62   the stream
//   bit 63          another entry lies before this one
//
// A reader begins with the record's last word, so a vector needs no length. Any thread may call any
// function.
#pragma once

#include <cstdint>

namespace logjam {

struct VectorWord {
  static constexpr uint32_t kPositionBits = 47, kStreamBits = 16;
  static constexpr uint64_t kMore = uint64_t{1} << (kPositionBits + kStreamBits);

  // Returns the word. `more` says whether another entry lies before it.
  static constexpr uint64_t encode(uint32_t stream, uint64_t position, bool more) {
    return position / 8 | uint64_t{stream} << kPositionBits | (more ? kMore : 0);
  }
  static constexpr uint32_t stream(uint64_t word) {
    return static_cast<uint32_t>(word >> kPositionBits & ((1 << kStreamBits) - 1));
  }
  static constexpr uint64_t position(uint64_t word) {
    return (word & ((uint64_t{1} << kPositionBits) - 1)) * 8;
  }
};

}  // namespace logjam
