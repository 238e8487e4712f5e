// The price of a miss: for how long a core works less because a line is not in its own caches.
//
// A load that follows no other miss takes the whole latency: the line is mostly found through a
// pointer, and the next steps depend on it. Stores overlap, also a lone one, because its line is
// asked for before its turn comes (docs/VALIDATION.md). Misses of lines in a row overlap (`overlap`
// of the profile). From the third line of a row on, the hardware fetches lines from memory and from
// the shared cache ahead of the core. It fetches no line ahead that another core owns, or that only
// another socket has: such lines overlap, and nothing more.
//
// A core never has a line before it arrives. So waits for a line that is still under way, and for
// memory that is busy with other lines, count in full, or move the prefetcher back.
//
// The functions know no fiber and no clock. Any code may call them.
#pragma once

#include "sim/machine/caches.h"
#include "sim/machine/machine.h"

namespace logjam::sim {

// Returns how much longer the core's own work takes, or its store buffer's, for a line that
// `fetched` describes. The core asks at `asked`; a store asks when the stores before it are done.
// `stream` is the row of lines to which the miss belongs (Caches::stream_of); the function moves it
// on.
Picoseconds price_of_miss(const Machine& machine, Access kind, const Caches::Fetched& fetched,
                          Picoseconds asked, Core::Stream& stream);

}  // namespace logjam::sim
