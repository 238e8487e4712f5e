// Recovery from a log of commands: every logged transaction is executed again, one after the
// other, in the log's order, which is the serialization order.
#pragma once

#include "engine/protocol.h"
#include "engine/recovery/recover.h"
#include "engine/workload.h"

namespace logjam {

// Executes the commands of the log `files` again in `database`, which holds its initial load, under
// `protocol`, on the calling thread; nothing else may use the database meanwhile. Each tuple ends
// up with the version that the run gave it: the log says which sequence number each command had.
//
// A command that does not do what it did in the run is an error, and replay stops there: either the
// workload is not a function of its input and the rows it reads, or the log's order is not the
// serialization order. So is a log of more than one stream. A damaged log is no error: replay ends
// where the valid records do, as in recover(). `rule` is the scheme's.
RecoveryResult replay_commands(Workload& workload, Database& database, const LogFiles& files,
                               const RecoveryRule& rule, const ProtocolInfo& protocol,
                               double read_bytes_per_second = 0);

}  // namespace logjam
