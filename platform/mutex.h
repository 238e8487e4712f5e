// The project's mutex: the standard library's. The simulated machine has its own (sim/include).
#pragma once

#include <mutex>

#include "platform/thread_annotations.h"

namespace logjam::platform {

class LJ_CAPABILITY("mutex") mutex {
 public:
  void lock() LJ_ACQUIRE() { mutex_.lock(); }
  bool try_lock() LJ_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void unlock() LJ_RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

}  // namespace logjam::platform
