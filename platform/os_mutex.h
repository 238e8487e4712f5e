// The standard library's mutex, in the simulated build too: for what is no part of what is
// simulated.
#pragma once

#include <mutex>

#include "platform/thread_annotations.h"

namespace logjam::platform {

class LJ_CAPABILITY("mutex") OsMutex {
 public:
  void lock() LJ_ACQUIRE() { mutex_.lock(); }
  void unlock() LJ_RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

}  // namespace logjam::platform
