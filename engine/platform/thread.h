// Threads, where they run, and how promptly the kernel wakes them.
#pragma once

#include <cstdint>
#include <string>
#include <thread>

namespace logjam::platform {

using thread = std::thread;

int core_count();
// Sockets of this machine (libnuma), at least 1.
int socket_count();
// The socket, from 0, of the core that pin_to_core(index) means.
int socket_of_core(int index);

// Pins the calling thread to core `index` modulo the cores this process may use.
void pin_to_core(int index);

// Asks that the calling thread, a log thread, be woken soon though workers keep all cores busy: a
// short slice (an eager deadline under EEVDF) and, where permitted, a lower nice value. Returns
// what was granted, for the run's summary.
std::string favour_this_thread();

void name_this_thread(const std::string& name);

}  // namespace logjam::platform
