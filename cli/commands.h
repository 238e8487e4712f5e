// The commands. Each returns the exit status of the process, and runs on the main thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "logging/scheme_registry.h"
#include "workloads/sync/sync.h"

namespace logjam {

int run_command();
int recover_command();
int micro_command();
int dump_command();
int device_command();
int trim_command();
// Prints the profile of this machine. If `what` is "hand-offs", prints instead the times in which a
// line goes from core to core; if it is "rates", the most that the machine does in a second.
int machine_command(const std::string& what);
// Plays rounds (explore.cc). `words` are play=FILE (plays the schedule in FILE), record=FILE
// (writes the schedule of a failed round to FILE), blocks=FILE (adds the basic blocks that the
// rounds executed to FILE) and weaken=FILE (treats the atomic operations in FILE as relaxed).
int explore_command(const std::vector<std::string>& words);
// Prints the list that `what` names, or all lists if `what` is empty.
int list_command(const std::string& what);

// The number of a scheme's streams: base + per_directory * directories + per_socket * sockets +
// per_group for each `group` workers; the last group may have fewer.
struct StreamCount {
  uint32_t base = 0, per_directory = 0, per_group = 0, group = 1, per_socket = 0;
};
StreamCount stream_count_of(const SchemeInfo& scheme);

// Sets kind, lines and pause from KIND[:LINES[:PAUSE_NS]], the value of --primitive. Returns "", or
// in one sentence why the value is refused.
std::string parse_sync(const std::string& given, sync::Options* options);

}  // namespace logjam
