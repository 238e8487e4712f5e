// The command line, which is checked as a whole before anything is loaded. "Refuses" means: ends
// the process with one sentence and kExitBadInput. The main thread calls these functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/run/run.h"
#include "logging/log.h"
#include "platform/worker_class.h"

namespace logjam {

struct Settings {
  const WorkloadInfo* workload = nullptr;
  const ProtocolInfo* protocol = nullptr;
  const SchemeInfo* scheme = nullptr;
  RunOptions run;
  LogOptions log;
  platform::WorkerClass::Request worker_class;
  std::string unsafe;  // R8: why acknowledged transactions may be lost; empty if they cannot
};

// Returns the settings of `logjam run`. Refuses values and combinations that cannot be used.
Settings run_settings();

// The parts of the settings that do not need an engine, for `logjam micro`.
CommitPolicy commit_policy();
LogConfig log_config();
LogOptions log_options(const SchemeInfo& scheme);
platform::WorkerClass::Request worker_class(const LogOptions& log);
void refuse_thread_count();

// The directories of --wal_dir, of which a log is read. Refuses an empty list, and a device that
// discards.
std::vector<std::string> wal_directories();
// The registered workload, protocol or scheme of that name. Refuses unknown names.
const WorkloadInfo& workload_named(const std::string& name);
const ProtocolInfo& protocol_named();  // --cc
const SchemeInfo& scheme_named(const std::string& name);

// The buffers of a log, which are in memory from the start: of each stream one.
struct LogBuffers {
  uint64_t count = 0;
  uint64_t bytes_each = 0;
  uint64_t bytes() const { return count * bytes_each; }
};
LogBuffers log_buffers(const LogOptions& log);
// Refuses tables and log buffers that do not fit in memory together.
void refuse_too_large(uint64_t table_bytes, const LogBuffers& buffers);

// The flags that differ from their defaults, as "--a=b --c=d", for the CSV row.
std::string changed_flags();

}  // namespace logjam
