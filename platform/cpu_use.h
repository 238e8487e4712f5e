// How much processor time other programs use on the cores that this process may use. The main
// thread calls these functions before it starts other threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace logjam::platform {

// Returns the seconds that all programs and the kernel have used on `cores` since boot, according
// to the text of /proc/stat.
double used_seconds(const std::string& proc_stat, std::span<const int> cores);

// Waits for up to 200 ms and returns whether others used less than a tenth of the processor time
// that `workers` workers could have. Returns early once they have used more: after 20 ms on a busy
// machine.
//
// Why a tenth: workers in the idle class lose the processor time that other programs use. The
// services of an idle machine use one percent; a compiler or another run uses a whole core. Why
// 200 ms: the kernel counts in units of 10 ms, and a tenth of one core should be more than one
// unit.
bool others_are_idle(uint32_t workers);

}  // namespace logjam::platform
