// Flags that were given and change nothing in this run: those of other schemes and workloads, and
// those that only count together with another choice. The main thread calls these functions.
#pragma once

#include <gflags/gflags.h>

#include <string>
#include <string_view>
#include <vector>

#include "cli/settings.h"

namespace logjam {

// Returns the schemes that read a flag that is defined in logging/, and the workloads that read one
// that is defined in workloads/ or proof/; none if the flag is for all.
std::vector<std::string_view> owners_of(const gflags::CommandLineFlagInfo& flag);

// Returns the given flags that have no effect in a run with these settings, each with what it
// belongs to, as "--tpcc_mix (of workload tpcc), --pipeline_depth (of --commit=pipelined)"; empty
// if all have one.
std::string without_effect(const Settings& settings);

}  // namespace logjam
