// The standard library's mutex, also in the simulated build: for parts that are not simulated.
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
