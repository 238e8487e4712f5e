// Ends the process with a given sentence if a test hangs before it destroys the watchdog. A test
// hangs if its process has used six minutes of processor time, or almost none in three minutes.
// Other programs can make a test slow, but such a test does not count as hanging.
#pragma once

#include <chrono>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <thread>

#include "platform/fatal.h"

namespace logjam {

class Watchdog {
 public:
  explicit Watchdog(const char* sentence)
      : thread_([this, sentence] {
          constexpr double kMostSeconds = 360, kLeastSeconds = 1;
          const double begun = processor_seconds();
          std::unique_lock lock(mutex_);
          double before = begun, now = begun;
          do {
            before = now;
            if (changed_.wait_for(lock, std::chrono::minutes(3), [this] { return done_; })) return;
            now = processor_seconds();
          } while (now - begun < kMostSeconds && now - before > kLeastSeconds);
          platform::fatal(sentence);
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
  static double processor_seconds() {
    timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace logjam
