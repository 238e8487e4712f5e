// The parts of a run that flags name: workload, protocol, scheme, commit policy, log directories.
// "Refuses" means: ends the process with one sentence and kExitBadInput. The main thread calls
// these functions.
#pragma once

#include <string>
#include <vector>

#include "engine/protocol.h"
#include "engine/run/run.h"
#include "engine/workload.h"
#include "logging/scheme_registry.h"

namespace logjam {

// Returns the workload of that name. Refuses unknown names, as the next two do.
const WorkloadInfo& workload_named(const std::string& name);
// Returns the protocol of --cc.
const ProtocolInfo& protocol_named();
// Returns the scheme of that name.
const SchemeInfo& scheme_named(const std::string& name);

// Returns the policy of --commit. Refuses unknown names.
CommitPolicy commit_policy();
// Refuses --threads if there cannot be that number of workers.
void refuse_thread_count();

// Returns the directories of --wal_dir; none if the flag is empty.
std::vector<std::string> given_directories();
// Returns the directories of --wal_dir, for a command that reads a log. Refuses an empty list.
std::vector<std::string> wal_directories();

// Refuses with the sentence `why`. Does nothing if it is empty.
void refuse_if(const std::string& why);

}  // namespace logjam
