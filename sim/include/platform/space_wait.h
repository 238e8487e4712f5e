// platform/space_wait.h of the simulated machine. All virtual threads are one thread of the host,
// so each has its count in its own fiber.
#pragma once

#include <cstdint>

namespace logjam::platform {

uint64_t& ticks_waited_for_space();

}  // namespace logjam::platform
