// The project's thread: the standard library's. The simulated machine has its own (sim/include).
#pragma once

#include <thread>

namespace logjam::platform {

using thread = std::thread;

}  // namespace logjam::platform
