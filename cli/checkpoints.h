// --checkpoint, for run and for recover. "Refuses" means: ends the process with one sentence and
// kExitBadInput. The main thread calls these functions.
#pragma once

#include <string>
#include <vector>

#include "cli/row.h"
#include "cli/settings.h"
#include "engine/checkpoint/checkpointer.h"

namespace logjam {

// Returns the checkpoints that a run is to take, of a log in `directories`. Refuses values that
// cannot be used. `about` and `release_log` are for the caller to set.
CheckpointOptions checkpoint_options(const std::vector<std::string>& directories);

// Returns whether a recovery is to take a checkpoint, and with which options, as above.
bool checkpoint_at_end_wanted();
CheckpointOptions checkpoint_at_end_options(const std::vector<std::string>& directories);

// Refuses checkpoints of a run for which none can be taken.
void refuse_checkpoints_of(const Settings& settings);

// Appends what the checkpoints of a run did, and what they cost; empty columns unless `any` were
// asked for.
void add_checkpoints(bool any, const RunResult& result, Row* row);

}  // namespace logjam
