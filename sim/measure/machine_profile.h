// The profile of this machine, as a file for the simulated one.
#pragma once

#include <cstdint>
#include <string>

namespace logjam {

// Measures this machine, `repetitions` times each cost, and returns the text of a profile
// (config/machines/README.md). It takes some seconds, and two cores that no other program uses.
// Ends the process with one sentence if this process may use one core only. Only the main thread
// may call it, while no other thread runs.
std::string measured_profile(uint32_t repetitions);

}  // namespace logjam
