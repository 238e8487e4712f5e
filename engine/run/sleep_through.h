// How the main thread of a run spends a phase.
#pragma once

#include <algorithm>
#include <cstdint>

#include "platform/clock.h"
#include "platform/thread.h"

namespace logjam {

// Sleeps for `seconds`, in naps of at most 20 ms. Before each nap it calls `ended(now_ns)`, and
// returns false at once if that returns true. Returns true if the time is over.
template <class Ended>
bool sleep_through(double seconds, const Ended& ended) {
  constexpr uint64_t kNapNs = 20'000'000;
  const uint64_t end = platform::now_ns() + static_cast<uint64_t>(seconds * 1e9);
  while (true) {
    const uint64_t now = platform::now_ns();
    if (now >= end) return true;
    if (ended(now)) return false;
    platform::sleep_ns(std::min(end - now, kNapNs));
  }
}

}  // namespace logjam
