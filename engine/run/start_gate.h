// Workers are made one after another, and start together.
//
// Protocol. `made_` has one increment by each worker's thread (release). A thread that reads it
// (acquire) sees the workers that were made before. The main thread sets `started_`, which
// publishes nothing (relaxed).
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/spin.h"

namespace logjam {

class StartGate {
 public:
  // Waits until `workers` workers are made. Any thread may call it.
  void await_made(uint32_t workers) const {
    for (platform::SpinWait wait; made_.load(platform::memory_order_acquire) != workers;) {
      wait.once();
    }
  }
  // Reports that the caller's worker is made, and waits for start(). Called by each worker's thread
  // once.
  void made_and_await_start() {
    made_.fetch_add(1, platform::memory_order_release);
    for (platform::SpinWait wait; !started_.load(platform::memory_order_relaxed);) wait.once();
  }
  // Lets the workers start. Called by the main thread.
  void start() { started_.store(true, platform::memory_order_relaxed); }

 private:
  platform::atomic<uint32_t> made_{0};
  platform::atomic<bool> started_{false};
};

}  // namespace logjam
