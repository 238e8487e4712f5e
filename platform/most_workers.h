// The most workers that a run may have. Where a worker's number shares a word with other data, a
// static_assert checks that every number fits.
#pragma once

#include <cstdint>

namespace logjam::platform {

inline constexpr uint32_t kMostWorkers = 1024;

}  // namespace logjam::platform
