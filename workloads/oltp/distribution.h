// The distributions from which sysbench draws ids.
#pragma once

#include <cstdint>

#include "workloads/random.h"

namespace logjam::oltp {

// Draws an id in [1, n]: uniformly, or like sysbench's --rand-type=special, the default of its
// version 1.0, with its defaults --rand-spec-res=75, --rand-spec-pct=1 and --rand-spec-iter=12. A
// quarter of these draws are the mean of twelve uniform ones, so they are densest in the middle.
// The others are spread over a range in the middle. sysbench maps [0, 1) to that range and uses the
// draw that chose the branch, which is 1/4 or more here, so the lowest quarter of the range gets
// none of them.
inline uint64_t draw_id(Random& random, uint64_t n, bool special) {
  if (!special) return 1 + random.below(n);
  const auto span = static_cast<double>(n - 1);
  const double branch = random.unit();
  if (branch < 0.25) {
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += random.unit();
    return 1 + static_cast<uint64_t>(sum / 12 * span);
  }
  const double range = span * 0.01;
  return 1 + static_cast<uint64_t>((span - range) / 2 + branch * (range + 1));
}

}  // namespace logjam::oltp
