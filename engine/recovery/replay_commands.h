// Recovery from a log of commands: every logged transaction is executed again. The transactions
// commit in the log's order, which is the serialization order. Several threads execute them ahead
// of their turn, under an optimistic protocol: what an earlier one overwrites meanwhile is noticed
// by the validation, and then the transaction is executed once more, at its turn.
#pragma once

#include "engine/protocol.h"
#include "engine/recovery/recover.h"
#include "engine/workload.h"

namespace logjam {

// With how many threads replay_commands() works that has `threads` of them: with one, unless the
// protocol is optimistic. Under the others, a transaction that waits for its turn would hold locks
// for which the one that has the turn waits.
uint32_t replaying_threads(const ProtocolInfo& protocol, uint32_t threads);

// Executes the commands of the log `files` again in `database`, which holds its initial load, under
// `protocol`, on replaying_threads() threads; nothing else may use the database meanwhile. Each
// tuple ends up with the version that the run gave it: the log says which sequence number each
// command had.
//
// A command that does not do what it did in the run is an error, and replay stops there: either the
// workload is not a function of its input and the rows it reads, or the log's order is not the
// serialization order. So is a log of more than one stream. A damaged log is no error: replay ends
// where the valid records do, as in recover(). `rule` is the scheme's.
RecoveryResult replay_commands(Workload& workload, Database& database, const LogFiles& files,
                               const RecoveryRule& rule, const ProtocolInfo& protocol,
                               uint32_t threads, double read_bytes_per_second = 0);

}  // namespace logjam
