// How much processor time other programs use, of the cores that this process may use. The main
// thread calls these functions before it starts other threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace logjam::platform {

// The time in seconds that all programs and the kernel have used since boot on these cores,
// according to the text of /proc/stat.
double used_seconds(const std::string& proc_stat, std::span<const int> cores);

// Waits for up to 200 ms and returns whether others used less than a tenth of the processor time
// that `workers` workers could have. It returns as soon as they have used more: on a busy machine
// that takes 20 ms.
//
// Why a tenth: workers in the idle class lose the processor time that other programs use. The
// services of an idle machine use one percent; a compiler or another run uses a whole core. Why
// 200 ms: the kernel counts in units of 10 ms, and a tenth of one core should be more than one
// unit.
bool others_are_idle(uint32_t workers);

}  // namespace logjam::platform
