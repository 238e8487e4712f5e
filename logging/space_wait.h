// How long threads wait for room in log buffers. A stream adds to it; whoever charges a worker's
// time to activities asks for it, without knowing streams.
#pragma once

#include <cstdint>

namespace logjam {

// The ticks that this thread has waited so far, in all streams together.
inline thread_local uint64_t ticks_waited_for_space = 0;

}  // namespace logjam
