// Where the threads of a run run: --placement, --first_core, --pin. The main thread calls these
// functions.
#pragma once

#include <string>
#include <vector>

#include "platform/placement.h"

namespace logjam {

// --placement. Refuses a policy that there is not.
platform::PlacementPolicy placement_policy();
// Chooses the placement of this process, for --threads workers. `directories` are the log's, and
// `workers_wait` says whether each commit waits for its write. Refuses a policy that there is not,
// and a first core that this process may not use.
void place_threads(const std::vector<std::string>& directories, bool workers_wait);

// For the row: the placement, or that there is none.
std::string placement_text();

// `logjam list machine` and `logjam list placement`: of this machine, or of --topology.
int list_machine();
int list_placement();

}  // namespace logjam
