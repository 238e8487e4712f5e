// When a stream is flushed: the policy of --flush and --flush_gap_us.
//
// The numbers of --flush=txns:X,bytes:L,us:T are Aether's ("every X transactions, L bytes logged,
// or T time elapsed", section 4.1). T counts from the oldest publish that no flush covers yet. A
// policy with X or L also needs T, because without T the last transactions would wait for ever
// (cli/log_options.cc). If all three are 0, the policy is *immediate*: it asks for a flush of all
// that is filled.
//
// The gap (flush_gap.h) belongs to the immediate policy: while workers are busy, a write begins at
// least one gap after the write before it. A thread that waits for durability does not wait for the
// gap: it passes Flush::kNow, or calls Stream::rely_on_daemon.
#pragma once

#include <algorithm>
#include <cstdint>

#include "logging/log_config.h"
#include "platform/clock.h"

namespace logjam {

enum class Flush : uint8_t {
  kByPolicy,  // flush when the flush policy asks for a flush
  kNow,       // flush all that is filled, whatever the flush policy says
};

// How far a stream is filled, or flushed: in commits and in bytes.
struct Progress {
  uint64_t commits = 0;  // counted only if FlushPolicy::txns is not 0
  uint64_t position = 0;
};

// A value type: it reads no clock, and no memory that threads share.
struct FlushPolicy {
  // Stands for the time of a publish so long ago that T is over, whatever T is. A real time would
  // not do: soon after the machine's start, no tick was more than T ago.
  static constexpr uint64_t kLongAgo = 1;

  uint64_t txns = 0, bytes = 0, wait_ticks = 0;  // X, L and T; 0: no criterion
  uint64_t gap_ticks = 0;  // the stream sets it before each use: the gap may change in the run

  static FlushPolicy of(const LogConfig& config) {
    return {.txns = config.flush_txns,
            .bytes = config.flush_bytes,
            .wait_ticks = platform::ns_to_ticks(static_cast<double>(config.flush_us) * 1e3)};
  }

  bool immediate() const { return txns == 0 && bytes == 0 && wait_ticks == 0; }

  // Returns whether X transactions or L bytes are filled that no flush covers yet. Flushes go up to
  // `flushed`. `flushed` may be after `filled` if `filled` was loaded earlier.
  bool enough(const Progress& filled, const Progress& flushed) const {
    const auto reached = [](uint64_t limit, uint64_t to, uint64_t from) {
      return limit != 0 && to > from && to - from >= limit;
    };
    return reached(bytes, filled.position, flushed.position) ||
           reached(txns, filled.commits, flushed.commits);
  }

  // Call the next two functions if there are filled bytes that no flush covers yet. If the policy
  // is immediate, `since` is the start of the last write. Otherwise `since` is the time of the
  // oldest publish of these bytes, kLongAgo if T is over, or 0 if there is no such time.

  // Returns how many ticks after `now` the gap or T will be over; 0 if it is over already.
  uint64_t ticks_until_asked(uint64_t since, uint64_t now) const {
    const uint64_t until = since + (immediate() ? gap_ticks : wait_ticks);
    return since > kLongAgo && until > now ? until - now : 0;
  }
  bool asked_by_time(uint64_t since, uint64_t now) const {
    return (since != 0 || immediate()) && ticks_until_asked(since, now) == 0;
  }

  // Returns by how many ticks a flush that T asked for is late at `now`. `oldest` is the time of
  // the flush's oldest publish. At `idle_since` the device became idle, so the flush was possible.
  uint64_t ticks_late(uint64_t oldest, uint64_t idle_since, uint64_t now) const {
    const uint64_t wanted = std::max(oldest + wait_ticks, idle_since);
    return now > wanted ? now - wanted : 0;
  }
};

}  // namespace logjam
