// Threads, the cores they run on, and how promptly the kernel wakes them. Any thread may call any
// function of this file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platform/os_thread.h"

namespace logjam::platform {

// The number of cores that this process may use, at least 1.
int core_count();
// The numbers of the cores that this process may use, as the kernel counts them.
const std::vector<int>& allowed_cores();
// The number of NUMA nodes of this machine (libnuma), at least 1.
int socket_count();
// The NUMA node, counted from 0, of the core that pin_to_core(index) chooses.
int socket_of_core(int index);

// Pins the calling thread to core number `index` (modulo their count) of the cores that this
// process may use.
void pin_to_core(int index);
// From now on number 0 is the core that the kernel knows as `core`, and the others follow in a
// circle. Returns false, and does nothing, if this process may not use that core. Call it before
// any thread is pinned.
bool count_cores_from(int core);

// The scheduling class of a thread. Any other thread preempts a thread of the idle class.
enum class SchedulingClass : uint8_t { kNormal, kBatch, kIdle, kOther };  // kOther: real time
// Puts the calling thread into the class (not kOther). Returns whether that is permitted.
bool set_scheduling_class(SchedulingClass wanted);
// Returns the scheduling class of the calling thread.
SchedulingClass scheduling_class();

// Asks the kernel to wake the calling thread, a log thread, promptly even while workers keep all
// cores busy. It requests a short time slice, which is an early deadline under EEVDF, and a lower
// nice value where that is permitted. Returns what the kernel granted, for the run's summary.
std::string favour_this_thread();

// Names the calling thread for debuggers and top; the kernel keeps the first 15 bytes.
void name_this_thread(const std::string& name);

}  // namespace logjam::platform
