// Virtual threads (fibers) on one host thread, and what platform/ asks of the kernel under them.
//
// Who runs next is not decided here. The Scheduler orders fibers by the clocks of a simulated
// machine; the Explorer (explorer.h) orders them by a seed, step by step, and charges nothing.
//
// Protocol. One host thread: no field needs any order. A function that may switch says so; during
// the call every other fiber may run.
#pragma once

#include <bit>
#include <boost/context/fiber.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "platform/assert.h"
#include "sim/machine/machine.h"

namespace logjam::sim {

class Cpu;

class Fiber {
 public:
  uint32_t id = 0;
  std::string name;
  bool ended = false;
  std::vector<Fiber*> joiners;
  const void* waits_on = nullptr;
  // The stack's lowest address, and one after the highest; null for the main thread.
  const char *stack_begin = nullptr, *stack_end = nullptr;
  // Of the Scheduler.
  Cpu* cpu = nullptr;  // where it runs, is ready, or ran last
  int pinned_socket = -1;
  bool pinned = false;
  bool favoured = false;
  // The wait that a wake-up ends. `waits` counts the waits, so that a timer knows whether its own
  // wait is over.
  uint64_t waits = 0;
  bool waiting = false;

  // Prefetches, on the host, where its registers are saved: the one pointer in `context_`.
  void prefetch_registers() const {
    static_assert(sizeof context_ == sizeof(void*));
    __builtin_prefetch(std::bit_cast<void* const*>(&context_)[0]);
  }

 private:
  friend class Kernel;
  boost::context::fiber context_;
  std::function<void()> body_;
};

class Kernel {
 public:
  // The thread that makes the kernel is its first fiber.
  Kernel();
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  Fiber& current() { return *current_; }

  // Starts a fiber, which is ready at once. The caller continues.
  virtual Fiber* spawn(std::function<void()> body) = 0;
  // Returns the time of the current fiber.
  virtual Picoseconds now() const = 0;
  // Returns whether the current fiber is the program's main thread.
  virtual bool observing() const = 0;
  // Returns whether there is a disk: the explorer's is in memory.
  virtual bool has_disk() const { return false; }

  // The functions from here on may switch.

  // Takes time for the fiber's own work, or for the kernel's work for it.
  virtual void spend(Picoseconds time) = 0;
  virtual void yield() = 0;
  virtual void pause() = 0;
  virtual void sleep(Picoseconds time) = 0;
  virtual void join(Fiber* fiber) = 0;
  // Begins the system call that may wait. No other fiber runs from its return to wait().
  virtual void before_wait() = 0;
  // Waits until a wake() of the address, or for `timeout` if that is not 0.
  virtual void wait(const void* address, Picoseconds timeout) = 0;
  // Wakes at most `most` of the fibers that wait on the address.
  virtual void wake(const void* address, uint32_t most) = 0;
  // Moves the current fiber to a context, and keeps it there; or to the contexts of a socket.
  virtual void pin(uint32_t context) = 0;
  virtual void pin_to_socket(uint32_t socket) = 0;

  // Returns how often a fiber gave its context up, how often the context was taken away from one,
  // the time that all contexts were busy, and the part of it that the kernel took.
  virtual uint64_t switches_given() const { return 0; }
  virtual uint64_t switches_taken() const { return 0; }
  virtual Picoseconds busy_time() const { return 0; }
  virtual Picoseconds kernel_time() const { return 0; }

 protected:
  // Makes a fiber. At its first switch_to() it executes enter(), and at its end after_end() names
  // the fiber that goes on.
  Fiber* make_fiber(std::function<void()> body);
  virtual void enter(Fiber* fiber) = 0;
  virtual Fiber* after_end() = 0;
  // Returns the return addresses on the fiber's stack, the innermost first, at most `most`. It
  // relies on frame pointers, and on where boost::context saves the registers.
  std::vector<uint32_t> stack_of(const Fiber& fiber, size_t most) const;
  static void execute_body(Fiber* fiber) { fiber->body_(), fiber->body_ = nullptr; }

  void switch_to(Fiber* fiber) {
    Fiber* self = current_;
    if (fiber == self) return;
    LJ_ASSERT(!fiber->ended);
    previous_ = self;
    current_ = fiber;
    boost::context::fiber from = std::move(fiber->context_).resume();
    previous_->context_ = std::move(from);
  }

  Fiber* current_ = nullptr;

 private:
  std::vector<std::unique_ptr<Fiber>> fibers_;
  Fiber* previous_ = nullptr;
};

// Returns the kernel of the program's threads: the scheduler, unless another one was put in its
// place.
Kernel& kernel();
// Puts a kernel in place of the current one; null puts the scheduler back. The kernel outlives
// its time there.
void put_kernel(Kernel* kernel);

}  // namespace logjam::sim
