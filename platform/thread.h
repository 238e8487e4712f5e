// Threads, the cores they run on, and how promptly the kernel wakes them.
#pragma once

#include <cstdint>
#include <string>

#include "platform/os_thread.h"
#include "platform/placement.h"

namespace logjam::platform {

// Pins the calling thread to core number `index` (modulo the number of cores) of the placement.
void pin_to_core(int index);
// Checks that the calling thread is still pinned; why_not_pinned() reports if it is not.
void look_at_pin(int index);
// Returns why a thread was not pinned, or did not stay pinned; empty if all threads stayed pinned.
std::string why_not_pinned();
// Restricts the calling thread to `socket`, unless that is kNoSocket or the only socket.
void pin_to_socket(int socket);

// The scheduling class of a thread. Any other thread preempts a thread of the idle class.
enum class SchedulingClass : uint8_t { kNormal, kBatch, kIdle, kOther };  // kOther: real time
// Puts the calling thread into the class. Returns whether the kernel permits it.
bool set_scheduling_class(SchedulingClass wanted);
SchedulingClass scheduling_class();

// Asks the kernel to wake the calling log thread promptly even while workers keep all cores busy.
// Requests a short time slice (an early deadline under EEVDF) and, where permitted, a lower nice
// value. Returns what the kernel granted, for the run's summary.
std::string favour_this_thread();

// Gives the calling thread a name for debuggers and top. The kernel keeps the first 15 bytes.
void name_this_thread(const std::string& name);

}  // namespace logjam::platform
