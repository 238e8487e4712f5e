// --placement: the cores on which a run's threads run. The main thread calls these functions.
#pragma once

#include <string>
#include <vector>

#include "platform/placement.h"

namespace logjam {

// Returns whether workers are pinned: false for --placement=none.
bool workers_are_pinned();
// Chooses the placement of this process, for --threads workers. `directories` are the log's, and
// `workers_wait` says whether each commit waits for its write. Refuses unknown policies, and a
// first core that this process may not use.
void place_threads(const std::vector<std::string>& directories, bool workers_wait);

// Returns the text about the placement for the row.
std::string placement_text();

}  // namespace logjam
