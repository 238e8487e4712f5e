// Recovery from a log of commands: every logged transaction is executed again. The transactions
// commit in the log's order, which is the serialization order. Several threads execute them ahead
// of their turn, under an optimistic protocol: if an earlier transaction then overwrites a row that
// a later transaction has read, the validation of the later one fails, and it is executed again at
// its turn.
#pragma once

#include <string>

#include "engine/protocol.h"
#include "engine/recovery/recover.h"
#include "engine/workload.h"
#include "logging/format/log_reader.h"
#include "logging/scheme_registry.h"

namespace logjam {

// Returns, in one sentence, why `scheme` cannot log the commands of `workload`; empty if it can, or
// if it logs none.
std::string check_commands(const WorkloadInfo& workload, const SchemeInfo& scheme);

// Returns how many of `threads` threads replay_commands() uses: one, unless the protocol is
// optimistic. Under other protocols, a transaction that waits for its turn would hold locks for
// which the transaction that has the turn waits.
uint32_t replaying_threads(const ProtocolInfo& protocol, uint32_t threads);

// Executes the commands of the log `files` again in `database`, which holds its initial load, under
// `protocol`, on replaying_threads() threads. No other thread uses the database. Each tuple gets
// the version that the run gave it, because the log has the sequence number of each command.
//
// If a command has another effect than in the run, that is an error, and replay stops there: either
// the workload is not a function of its input and the rows that it reads, or the log's order is not
// the serialization order. A log of more than one stream is also an error. A damaged log is no
// error: replay ends where the valid records end, as in recover(). `rule` is the scheme's.
RecoveryResult replay_commands(Workload& workload, Database& database, const LogFiles& files,
                               const RecoveryRule& rule, const ProtocolInfo& protocol,
                               uint32_t threads, double read_bytes_per_second = 0);

}  // namespace logjam
