// Where the threads of a run run: --placement. The main thread calls these
// functions.
#pragma once

#include <string>
#include <vector>

#include "platform/placement.h"

namespace logjam {

// Returns the policy of --placement. Refuses unknown ones.
platform::PlacementPolicy placement_policy();
// Returns false for --placement=none.
bool workers_are_pinned();
// Chooses the placement of this process, for --threads workers. `directories` are the log's, and
// `workers_wait` says whether each commit waits for its write. Refuses unknown policies, and a
// first core that this process may not use.
void place_threads(const std::vector<std::string>& directories, bool workers_wait);

// Returns the placement, or that there is none, for the row.
std::string placement_text();

// Print the machine, and the cores of its workers, of this machine or of --topology. Return the
// exit status.
int list_machine();
int list_placement();

}  // namespace logjam
