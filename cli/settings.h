// The command line, checked as a whole before anything is loaded.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/run/run.h"
#include "logging/log.h"

namespace logjam {

struct Settings {
  const WorkloadInfo* workload = nullptr;
  const ProtocolInfo* protocol = nullptr;
  const SchemeInfo* scheme = nullptr;
  RunOptions run;
  LogOptions log;
  std::string unsafe;  // R8: why what is acknowledged may be lost; empty if it may not
};

// Refuses flags no part of the program knows, with the nearest one that exists.
void refuse_unknown_flags(int argc, char** argv);

// The settings of `logjam run`. Refuses, with one sentence, what cannot be used.
Settings run_settings();

// The parts of it that do not need an engine, for `logjam micro`.
CommitPolicy commit_policy();
LogConfig log_config();
LogOptions log_options(const SchemeInfo& scheme);
void refuse_thread_count();

// --log_dir as a list; refuses an empty one.
std::vector<std::string> log_directories();
const WorkloadInfo& workload_named(const std::string& name);
const ProtocolInfo& protocol_named();  // --cc
const SchemeInfo& scheme_named(const std::string& name);

// Refuses a workload that does not fit in memory.
void refuse_too_large(const Workload& workload, uint64_t other_bytes);

// Flags that differ from their defaults, "--a=b --c=d", for the CSV row.
std::string changed_flags();

}  // namespace logjam
