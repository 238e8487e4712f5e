// How long threads wait for room in log buffers. A log stream adds to it; the code that charges a
// worker's time to activities reads it, without knowing streams.
#pragma once

#include <cstdint>

namespace logjam::platform {

// Returns the ticks that this thread has waited so far, in all streams together.
inline uint64_t& ticks_waited_for_space() {
  static thread_local uint64_t ticks = 0;
  return ticks;
}

}  // namespace logjam::platform
