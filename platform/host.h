// What this process runs on, and what makes one run differ from the next. Any thread may call any
// function of this file.
#pragma once

#include <cstdint>
#include <string>

namespace logjam::platform {

// One line for people: the CPU, how many cores this process may use, and the operating system. Of a
// simulated machine it begins with "simulated".
std::string host_description();

// Whether this is the simulated machine.
bool is_simulated();

// Why there are no files to sync here, in one sentence; empty where there are.
std::string why_no_disk();

// A number that no other run gets.
uint64_t random_number();

}  // namespace logjam::platform
