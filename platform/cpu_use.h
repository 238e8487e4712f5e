// How much processor time other programs use on the cores that this process may use. The main
// thread calls these functions before it starts other threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace logjam::platform {

// Returns the seconds that all programs have used on `cores` since boot, from a text of /proc/stat.
double used_seconds(const std::string& proc_stat, std::span<const int> cores);

// Waits for up to 200 ms, on a busy machine for 20 ms. Returns whether other programs used less
// than a tenth of the processor time that `workers` workers could have.
// The limit is a tenth, because workers in the idle class lose the processor time that other
// programs use. The services of an idle machine use one percent, far less than a tenth. A compiler
// or another run uses a whole core.
// The wait takes 200 ms, because the kernel counts in units of 10 ms, and a tenth of one core
// should exceed a unit.
bool others_are_idle(uint32_t workers);

}  // namespace logjam::platform
