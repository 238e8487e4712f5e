// The file of a recorded schedule: a line for each turn that ended (thread, its steps, whether it
// waited, the thread that went on, stores that were late, timers that ended early), and one for the
// crash that failed (thread, its steps, in a file call, before the step, number).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platform/exploration.h"

namespace logjam {

// Reads the turns and the crash of the file into `schedule`. Ends the process with one sentence if
// the file cannot be read or is no such file.
void read_schedule(const std::string& path, platform::Schedule* schedule);
// Returns the addresses of a file that names atomic operations, one a line, in hexadecimal digits.
// Ends the process with one sentence if the file cannot be read or has anything else.
std::vector<uint64_t> read_addresses(const std::string& path);
// Ends the process (kExitBadInput) unless the file can be replaced by a schedule.
void claim_schedule(const std::string& path);
// Writes the file of a schedule. Ends the process with one sentence if it cannot.
void write_schedule(const std::string& path, const platform::Explored& explored);

}  // namespace logjam
