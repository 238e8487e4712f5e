// The most workers that a run may have. A static_assert stands wherever a worker's number shares a
// word with other data.
#pragma once

#include <cstdint>

namespace logjam::platform {

inline constexpr uint32_t kMostWorkers = 1024;

}  // namespace logjam::platform
