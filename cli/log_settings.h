// The settings of a log, which `logjam run` and `logjam micro` share, and whether its buffers fit
// in memory. "Refuses" means: ends the process with one sentence and kExitBadInput. The main thread
// calls these functions.
#pragma once

#include <cstdint>

#include "logging/log.h"
#include "platform/worker_class.h"

namespace logjam {

// Returns the options of a log of `scheme`, and chooses the placement of the threads. Refuses
// values and combinations that cannot be used.
LogOptions log_options(const SchemeInfo& scheme);
// Returns how workers are to be scheduled, for a log with these options. Refuses unknown names.
platform::WorkerClass::Request worker_class(const LogOptions& log);

// The buffers of a log, one for each stream. They are allocated before the log starts.
struct LogBuffers {
  uint64_t count = 0;
  uint64_t bytes_each = 0;
  uint64_t bytes() const { return count * bytes_each; }
};
LogBuffers log_buffers(const LogOptions& log);
// Refuses tables and log buffers that do not fit in memory together.
void refuse_too_large(uint64_t table_bytes, const LogBuffers& buffers);

}  // namespace logjam
