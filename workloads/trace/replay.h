// The workload `trace` (workloads/trace/replay.cc).
#pragma once

#include <memory>
#include <string>

#include "engine/workload.h"
#include "workloads/trace/trace.h"

namespace logjam::trace {

// Returns a workload that replays `trace`. `name` names the trace in the run's description.
std::unique_ptr<Workload> make_replay(const std::string& name, std::shared_ptr<const Trace> trace);

}  // namespace logjam::trace
