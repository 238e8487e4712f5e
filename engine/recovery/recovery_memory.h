// How a recovery divides the memory that it may use for a log (--replay).
//
// Each stream has a share, and each applier the fourth part of one. At the worst a stream holds
// five windows in addition to the batches that wait for appliers: the last batch that it kept, the
// batch that it reads, the lists of these two (16 bytes for each record, which has 32 at least),
// the window in which it looks for records after its end, and the part of a record that it has read
// already. An applier holds a batch. Another fourth part is for ranges that wait for the version
// that they change (waiting_ranges.h); the appliers then take from the streams in their order, so
// that no more of them wait than the records of a stream are out of order. Not counted are records
// that are longer than a window, because each must be in memory as a whole, and what open
// transactions and watermarks need (transaction_assembler.h, RecoveryRule::forget).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "logging/format/log_reader.h"

namespace logjam {

inline constexpr uint64_t kRecoveryBytes = uint64_t{1} << 30;

struct StreamShare {
  uint64_t window_bytes;     // ReadMemory::window_bytes
  uint64_t most_held_bytes;  // of batches that wait: a stream that has as many keeps no more
  // Of ranges that wait, in all streams: if there are more, no stream is taken ahead of others.
  uint64_t most_waiting_bytes;
};

// Returns the share of each of `streams` streams, if `appliers` threads apply and `bytes` bytes may
// be used. No share is less than 512 KiB, whatever `bytes` is.
inline StreamShare share_of_stream(uint64_t bytes, size_t streams, uint32_t appliers) {
  constexpr uint64_t kLeastWindow = uint64_t{64} << 10;
  const uint64_t share = std::max(bytes / (4 * streams + appliers + 1) * 4, 8 * kLeastWindow);
  const uint64_t window = std::min(share / 8, ReadMemory{}.window_bytes);
  return {window, share - 5 * window, share / 4};
}

}  // namespace logjam
