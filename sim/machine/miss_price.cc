#include "sim/machine/miss_price.h"

#include <algorithm>

namespace logjam::sim {
namespace {

bool is_prefetched(const Machine& machine, const Core::Stream& stream,
                   const Caches::Fetched& fetched) {
  return stream.lines >= machine.profile.lines_noticed &&
         (fetched.source == Source::kMemory || fetched.source == Source::kSharedCache);
}

// Returns the time between two lines of a stream.
Picoseconds stream_price(const Machine& machine, Access kind, const Caches::Fetched& fetched) {
  const Picoseconds overlapped = machine.overlapped(fetched.latency);
  if (fetched.source == Source::kSharedCache) return std::min(machine.l3_stream, overlapped);
  const auto& streams = kind == Access::kStore ? machine.stream_store : machine.stream;
  return std::min(streams[fetched.far], overlapped);
}

}  // namespace

Picoseconds price_of_miss(const Machine& machine, Access kind, const Caches::Fetched& fetched,
                          Picoseconds asked, Core::Stream& stream) {
  const Picoseconds under_way = fetched.cost - std::min(fetched.cost, fetched.latency);
  if (is_prefetched(machine, stream, fetched)) {
    // The hardware fetches one line of the stream after the other, up to `lines_ahead` before the
    // core asks. So a core that asks rarely finds its lines already fetched, and one that copies
    // much waits for each.
    const Picoseconds price = stream_price(machine, kind, fetched);
    const auto lead =
        static_cast<Picoseconds>(machine.profile.lines_ahead * static_cast<double>(price));
    const Picoseconds earliest = asked - std::min(asked, lead);
    stream.ready = std::max(std::max(stream.ready, earliest) + price, earliest + under_way);
    return stream.ready - std::min(stream.ready, asked);
  }
  const bool alone = kind != Access::kStore && stream.lines == 0;
  const Picoseconds wait = alone || kind == Access::kAtomic
                               ? fetched.cost
                               : under_way + machine.overlapped(fetched.latency);
  stream.ready = asked + wait;
  return wait;
}

}  // namespace logjam::sim
