// Recovery from a log of commands: they are executed again, one after the other, in the log's
// order, which is the serialization order.
#pragma once

#include "engine/protocol.h"
#include "engine/recovery/recover.h"
#include "engine/workload.h"

namespace logjam {

// Re-executes into `database`, which holds its initial load, under `protocol`, on this thread.
// Tuples end up with the versions they had. A command that does not go through as it did is an
// error: the workload is not a function of its input, or the log's order not the serialization
// order. The log is read as recover() does.
RecoveryResult replay_commands(Workload& workload, Database& database, const LogFiles& files,
                               const LogScheme& scheme, const ProtocolInfo& protocol,
                               double read_bytes_per_second = 0);

}  // namespace logjam
