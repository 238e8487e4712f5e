// The mutex of logging/ and cc/: the standard library's. The simulated machine has its own
// (sim/include).
#pragma once

#include <mutex>

namespace logjam::platform {

using mutex = std::mutex;
template <class M>
using lock_guard = std::lock_guard<M>;
template <class M>
using unique_lock = std::unique_lock<M>;

}  // namespace logjam::platform
