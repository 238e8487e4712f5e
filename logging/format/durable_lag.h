// Evidence of durability. Each record says roughly how far its stream was durable when its hole was
// reserved. It carries a bound on its *durable lag*: its position minus the position up to which
// the stream was durable. A valid record vouches for all bytes of its stream before its position
// minus the bound: they were durable once, so no crash can have torn them. If the stream ends
// before them, it is damaged (logging/format/stream_tail.h).
//
// The bound is stored as a code of 5 bits, so that no record grows:
//
//   0       nothing is known (a lag of 16 GiB or more)
//   c > 0   the lag is at most (2^(c-1) - 1) * 16 bytes: 0, 16, 48, 112, ...
//
// The body of a watermark record has a word for each stream: a position in that stream, and a code
// that vouches for the stream in the same way.
//
// Any thread may call any function.
#pragma once

#include <bit>
#include <cstdint>

#include "platform/assert.h"

namespace logjam {

inline constexpr uint32_t kLagCodeBits = 5;
inline constexpr uint64_t kMostLagCode = (1 << kLagCodeBits) - 1;

// Returns the code for `position`, if the stream was durable up to `durable`.
constexpr uint64_t lag_code(uint64_t position, uint64_t durable) {
  const uint64_t lag = durable < position ? position - durable : 0;
  const auto code = static_cast<uint64_t>(std::bit_width((lag + 15) / 16)) + 1;
  return code <= kMostLagCode ? code : 0;
}
// Returns the position up to which the stream was certainly durable, 0 if nothing is known.
constexpr uint64_t vouched_position(uint64_t position, uint64_t code) {
  if (code == 0) return 0;
  const uint64_t bound = ((uint64_t{1} << (code - 1)) - 1) * 16;
  return position > bound ? position - bound : 0;
}

// A word of a watermark record's body.
struct WatermarkWord {
  static constexpr uint32_t kPositionBits = 56;

  static constexpr uint64_t encode(uint64_t position, uint64_t durable) {
    LJ_ASSERT(position >> kPositionBits == 0);
    return position | lag_code(position, durable) << kPositionBits;
  }
  static constexpr uint64_t position(uint64_t word) {
    return word & ((uint64_t{1} << kPositionBits) - 1);
  }
  static constexpr uint64_t vouched(uint64_t word) {
    return vouched_position(position(word), word >> kPositionBits & kMostLagCode);
  }
};

}  // namespace logjam
