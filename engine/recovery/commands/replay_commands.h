// Recovery from a log of commands: every logged transaction is executed again, and commits in the
// log's order, which is the serialization order. Under an optimistic protocol several threads
// execute transactions ahead of their turn. If an earlier transaction has overwritten a row that a
// transaction had read, the validation fails at the turn, and the transaction is executed again.
#pragma once

#include <string>

#include "engine/protocol.h"
#include "engine/recovery/recover.h"
#include "engine/workload.h"
#include "logging/format/log_reader.h"
#include "logging/scheme_registry.h"

namespace logjam {

// Returns in one sentence why `scheme` cannot log the commands of `workload` under `protocol`, or
// an empty string.
std::string check_commands(const WorkloadInfo& workload, const ProtocolInfo& protocol,
                           const SchemeInfo& scheme);

// Returns how many of `threads` threads replay_commands() uses: one, unless the protocol is
// optimistic. Under other protocols, a transaction that waits for its turn holds locks, for which
// an earlier transaction might wait.
uint32_t replaying_threads(const ProtocolInfo& protocol, uint32_t threads);

// Executes the commands of the log `files` again, on replaying_threads() threads. No other thread
// uses `database`, which holds its initial load. Tuples get the same versions as in the run.
//
// Stops with an error if a command has another effect than in the run: either the effect depends on
// more than the command's input and the rows that it reads, or the log's order is not the
// serialization order. A log of several streams is an error; a damaged log is none.
RecoveryResult replay_commands(Workload& workload, Database& database, const LogFiles& files,
                               const RecoveryRule& rule, const ProtocolInfo& protocol,
                               uint32_t threads, double read_bytes_per_second = 0);

}  // namespace logjam
