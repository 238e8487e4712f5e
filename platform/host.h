// The machine that this process runs on, what the process uses of it, and a random number for each
// run. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <string>

namespace logjam::platform {

// Returns one line for people: the CPU, the number of cores that this process may use, and the
// operating system. The line of a simulated machine begins with "simulated".
std::string host_description();

bool is_simulated();

// Tells the machine that the measured time of a run begins, or ends. A simulated machine reports
// only on the time between the two calls. The main thread calls each function at most once.
void begin_measured_time();
void end_measured_time();

// Returns, in one sentence, why this machine has no disk; empty if it has one.
std::string why_no_disk();

// Returns a number that no other run gets. (Simulated: it follows from --sim_seed.)
uint64_t random_number();

struct ProcessUse {
  double cpu_seconds = 0;                   // user and system time of all threads
  double system_seconds = 0;                // the part in the kernel
  uint64_t voluntary = 0, involuntary = 0;  // context switches

  ProcessUse since(const ProcessUse& earlier) const {
    return {cpu_seconds - earlier.cpu_seconds, system_seconds - earlier.system_seconds,
            voluntary - earlier.voluntary, involuntary - earlier.involuntary};
  }
};

ProcessUse process_use();

}  // namespace logjam::platform
