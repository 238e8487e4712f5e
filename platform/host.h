// The machine that this process runs on, what the process uses of it, and a random number for each
// run. Any thread may call any function of this file.
#pragma once

#include <cstdint>
#include <string>

namespace logjam::platform {

// Returns one line for people: the CPU, how many cores this process may use, and the operating
// system. For a simulated machine the line begins with "simulated".
std::string host_description();

// Returns whether this is the simulated machine.
bool is_simulated();

// Tells the machine that the measured time of a run begins. A simulated machine reports on that
// time alone. The main thread calls it once, if at all.
void begin_measured_time();
// Tells the machine that the measured time is over.
void end_measured_time();

// Returns, in one sentence, why this machine has no disk; empty if it has one.
std::string why_no_disk();

// Returns a number that no other run gets. (Simulated: it follows from --sim_seed.)
uint64_t random_number();

// The processor time and the context switches of this process.
struct ProcessUse {
  double cpu_seconds = 0;                   // user and system time of all threads
  double system_seconds = 0;                // the part of it in the kernel
  uint64_t voluntary = 0, involuntary = 0;  // context switches

  ProcessUse since(const ProcessUse& earlier) const {
    return {cpu_seconds - earlier.cpu_seconds, system_seconds - earlier.system_seconds,
            voluntary - earlier.voluntary, involuntary - earlier.involuntary};
  }
};

// Returns the use of the process since it started. Any thread may call it.
ProcessUse process_use();

}  // namespace logjam::platform
