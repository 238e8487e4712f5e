// platform/os_thread.h of the simulated machine: a virtual thread, in the form of std::thread.
#pragma once

#include <functional>
#include <utility>

namespace logjam::sim {
class Fiber;
}

namespace logjam::platform {

class thread {
 public:
  thread() = default;
  template <class Function>
  explicit thread(Function&& function) {
    start(std::function<void()>(std::forward<Function>(function)));
  }
  ~thread();
  thread(thread&& other) noexcept : fiber_(std::exchange(other.fiber_, nullptr)) {}
  thread& operator=(thread&& other) noexcept {
    std::swap(fiber_, other.fiber_);
    return *this;
  }

  bool joinable() const { return fiber_ != nullptr; }
  void join();

 private:
  void start(std::function<void()> body);

  sim::Fiber* fiber_ = nullptr;
};

}  // namespace logjam::platform
