// The prices of a cache line that two cores use.
#pragma once

#include <cstdint>

namespace logjam::platform {

struct LineCosts {
  double clean_ns;     // load of a line that the other core has read
  double dirty_ns;     // load of a line that the other core has written
  double upgrade_ns;   // fetch-add of a line that both have read, minus one of a core's own line
  double hand_off_ns;  // half the round trip of a line between two compare-and-swaps
  // The time of each addition while both add to one line. 0: they never ran together.
  double contended_fetch_add_ns;
};

// Measures core number `core` of pin_to_core() against core number `other`. While one thread acts
// on the lines the other waits for it, so neither has to run at a certain moment; hand_off_ns and
// contended_fetch_add_ns are the exceptions.
LineCosts line_costs(int core, int other, uint32_t repetitions);

}  // namespace logjam::platform
