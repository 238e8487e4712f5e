// --checkpoint, for run and for recover. "Refuses" means: ends the process with one sentence and
// kExitBadInput. The main thread calls these functions.
#pragma once

#include <string>
#include <vector>

#include "cli/row.h"
#include "cli/settings.h"
#include "engine/checkpoint/checkpointer.h"

namespace logjam {

// Returns the options of a run's checkpoints, of a log in `directories`. Refuses values that cannot
// be used. The caller sets `about`, `sockets` and `release_log`.
CheckpointOptions checkpoint_options(const std::vector<std::string>& directories);

// Returns whether a recovery shall take a checkpoint.
bool checkpoint_at_end_wanted();
// Returns the options of that checkpoint. Refuses values that cannot be used.
CheckpointOptions checkpoint_at_end_options(const std::vector<std::string>& directories);

// Refuses a run whose log, device or machine has no checkpoints. A run with --checkpoint calls it.
void refuse_checkpoints_of(const Settings& settings);

// Appends the columns about a run's checkpoints: how many, how large, and their cost. Leaves the
// columns empty unless `any`, that is, unless the run was asked for checkpoints.
void add_checkpoints(bool any, const RunResult& result, Row* row);

}  // namespace logjam
