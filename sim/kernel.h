// Virtual threads (fibers) on one host thread, and the kernel that platform/ calls.
//
// A subclass decides which fiber runs next. The Scheduler orders fibers by the clocks of a
// simulated machine. The Explorer orders the fibers' steps by a seed, and charges nothing.
//
// Protocol. There is one host thread, so no field needs an ordering. A function that may switch
// fibers says so; every other fiber may run during its call.
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
  // Only the Scheduler uses the fields from `cpu` to `waiting`.
  Cpu* cpu = nullptr;  // the context where the fiber runs, is ready, or ran last
  int pinned_socket = -1;
  bool pinned = false;
  bool favoured = false;
  uint64_t waits = 0;  // the count of ended waits; a timer belongs to one wait only
  bool waiting = false;

  // Prefetches the fiber's saved registers, to which `context_` points, into the host's caches.
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

  // Starts a fiber, which is ready at once. Does not switch to the new fiber.
  virtual Fiber* spawn(std::function<void()> body) = 0;
  virtual Picoseconds now() const = 0;
  // Returns whether the current fiber is the program's main thread.
  virtual bool observing() const = 0;
  // Returns whether the kernel has a disk. The explorer has a disk in memory.
  virtual bool has_disk() const { return false; }

  // The functions from here to pin_to_socket() may switch fibers.

  // Moves the current fiber's clock forward by `time`.
  virtual void spend(Picoseconds time) = 0;
  virtual void yield() = 0;
  virtual void pause() = 0;
  virtual void sleep(Picoseconds time) = 0;
  virtual void join(Fiber* fiber) = 0;
  // Begins a system call that may wait. No other fiber runs before the following call of wait().
  virtual void before_wait() = 0;
  // Waits until a wake() of the address, or until `timeout` has passed; 0: no timeout.
  virtual void wait(const void* address, Picoseconds timeout) = 0;
  virtual void wake(const void* address, uint32_t most) = 0;
  virtual void pin(uint32_t context) = 0;
  virtual void pin_to_socket(uint32_t socket) = 0;

  // How often fibers gave up their context, how often they lost it to another fiber, the time that
  // all contexts together were busy, and the kernel's part of this time.
  struct Usage {
    uint64_t switches_given = 0, switches_taken = 0;
    Picoseconds busy = 0, kernel = 0;
  };
  virtual Usage usage() const { return {}; }

 protected:
  // Makes a fiber, which executes enter() at its first switch_to(). At the fiber's end, after_end()
  // returns the fiber that runs next.
  Fiber* make_fiber(std::function<void()> body);
  virtual void enter(Fiber* fiber) = 0;
  virtual Fiber* after_end() = 0;
  // Returns up to `most` return addresses on the fiber's stack, the innermost first. Relies on
  // frame pointers, and on the place where boost::context saves the registers.
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

// Returns the kernel of the program's threads: the scheduler, unless put_kernel() has replaced it.
Kernel& kernel();
// Replaces the kernel by `kernel`, or by the scheduler if `kernel` is null. The caller keeps
// `kernel` alive until the next call.
void put_kernel(Kernel* kernel);

}  // namespace logjam::sim
