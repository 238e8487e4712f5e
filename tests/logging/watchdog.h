// Ends the process with a given sentence if the watchdog is not destroyed within three minutes.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "platform/fatal.h"

namespace logjam {

class Watchdog {
 public:
  explicit Watchdog(const char* sentence)
      : thread_([this, sentence] {
          std::unique_lock lock(mutex_);
          if (!changed_.wait_for(lock, std::chrono::minutes(3), [this] { return done_; })) {
            platform::fatal(sentence);
          }
        }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace logjam
