// The thread of all rooms: the standard library's, or a virtual one of the simulated machine.
#pragma once

#include <thread>

namespace logjam::platform {

using thread = std::thread;

}  // namespace logjam::platform
