// A workload whose clients keep a history of what they write, where --history asks for one.
#pragma once

#include <memory>

#include "engine/workload.h"

namespace logjam {

// Makes the workload. With --history, unless the workload keeps a history of its own, its clients
// are RecordingClients, and verify() also makes the check of checker.h.
std::unique_ptr<Workload> make_with_history(const WorkloadInfo& info);

}  // namespace logjam
