// The tails of several logs: up to which position each log is reserved (dlog.cc).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace logjam {

// Loads the clocks of `logs`, then their tails into `tails`. Returns the least clock. A record with
// a GSN up to that clock lies before the tails, because a worker reserves a record before it draws
// the GSN. `logs` are pointers to logs, each of which has a `clock` (GsnClock) and a `buffer`
// (AetherBuffer). Any thread may call it.
template <class Logs>
uint64_t load_tails(const Logs& logs, std::vector<uint64_t>& tails) {
  uint64_t least = ~uint64_t{0};
  for (const auto& log : logs) least = std::min(least, log->clock.now());
  for (size_t s = 0; s < logs.size(); ++s) tails[s] = logs[s]->buffer.reserved();
  return least;
}

}  // namespace logjam
