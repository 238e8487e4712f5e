// Virtual threads (fibers) on virtual hardware contexts (Cpu), each with its own clock.
//
// One host thread runs everything. The fiber of the context with the earliest clock runs. A step
// that only its own core can see happens at once, and its clock runs ahead. Before a step that
// others can see (an atomic, a line that is not in its own cache), the fiber lets every context
// with an earlier clock run first: visible(). So all visible steps happen in the order of the
// clocks, and the same flags give the same run. Equal clocks go by the context's number.
//
// Execution is sequentially consistent, because one host thread makes one access after the other.
// Only plain accesses that a core's own caches answer may leave the order of the clocks: another
// core may make a store that is a little earlier by its clock, and such a load misses it; or a load
// that is a little earlier, and it sees such a store. Atomics order them, as they must on real
// cores.
//
// The main thread of the program is the observer: it loads, waits and reports, costs nothing, and
// has a clock of its own that only waiting moves.
//
// The operating system: each context has a queue of ready fibers and time slices. A pinned fiber
// stays on its context. Any other fiber wakes on the context where it ran last if that is idle, or
// on an idle context of the same socket, or on any idle context. A favoured fiber
// (platform::favour_this_thread) runs as soon as it wakes. The profile has the prices of a wake-up,
// a sleep and a switch.
//
// Protocol. One host thread: no field needs any order. A function that may switch says so; during
// the call every other fiber may run. `running` is null while the simulation itself works or the
// observer runs: the instrumented code (hooks.cc) is then free of charge.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "platform/random.h"
#include "sim/kernel.h"
#include "sim/machine/caches.h"
#include "sim/machine/clock_heap.h"
#include "sim/machine/machine.h"

namespace logjam::sim {

// A hardware context, or the observer.
class Cpu {
 public:
  Cpu(uint32_t number, Core* core) : number(number), core(core) {}

  const uint32_t number;
  Core* const core;  // null: the observer
  Picoseconds now = 0;
  Picoseconds per_instruction = 0;
  Picoseconds stores_done_at = 0;  // when the store buffer is empty
  Fiber* fiber = nullptr;          // the one that runs here; null: idle
  std::deque<Fiber*> ready;
  Picoseconds slice_end = 0;
  bool preempt = false;  // a favoured fiber is at the front of the queue
  Picoseconds busy_since = 0, busy = 0;
  // The share of the last window in which it took issue slots. It takes none while it waits for a
  // line or pauses.
  double issues = 0;
  Picoseconds window_begin = 0, stalled = 0;
  Picoseconds checked = 0;  // the clock when check() saw it last

  // Prefetches, on the host, the registers of its fiber. Has no effect on the simulation.
  void prefetch_fiber() const {
    if (fiber != nullptr) fiber->prefetch_registers();
  }

  // Records that a prefetch has put `line` into the first cache's tags, and that the line really
  // arrives at `comes`. A core that needs it earlier waits: await_prefetch().
  void prefetch(uint32_t line, Picoseconds comes) {
    prefetched[next_prefetch++ % prefetched.size()] = {line, comes};
    prefetches_end = std::max(prefetches_end, comes);
  }
  void await_prefetch(uint32_t line) {
    for (const Prefetched& one : prefetched) {
      if (one.line == line) now = std::max(now, one.comes);
    }
  }
  struct Prefetched {
    uint32_t line = 0;
    Picoseconds comes = 0;
  };
  std::array<Prefetched, 16> prefetched;
  uint32_t next_prefetch = 0;
  Picoseconds prefetches_end = 0;
};

// The context of the running fiber, if its accesses are charged; else null.
extern Cpu* running;
// The clock up to which the running fiber may make visible steps.
extern Picoseconds horizon;
// The caches that the observer's accesses warm, while it runs; else null.
extern Caches* warmed;

class Scheduler final : public Kernel {
 public:
  explicit Scheduler(const Machine& machine);
  ~Scheduler() override { warmed = nullptr; }

  Caches& caches() { return caches_; }
  Cpu& current_cpu() { return *current_->cpu; }
  bool observing() const override { return current_->cpu->core == nullptr; }
  Picoseconds now() const override { return current_->cpu->now; }
  Fiber* spawn(std::function<void()> body) override;

  // The functions from here to pin_to_socket() may switch.

  // Lets every context with an earlier clock run first. Call it when the clock is past `horizon`.
  void visible();
  void spend(Picoseconds time) override;
  // Records that the context has waited for `time` without taking issue slots, which its siblings
  // on the core had meanwhile.
  void note_stall(Cpu& cpu, Picoseconds time) {
    if (machine_.profile.contexts > 1) add_stall(cpu, time);
  }
  void yield() override;
  void pause() override;
  void sleep(Picoseconds time) override;
  void join(Fiber* fiber) override;
  // Lets the kernel read the word once more, in the order of the clocks.
  void before_wait() override;
  // Spends the rest of the profile's futex_wait_ns before the fiber leaves the context.
  void wait(const void* address, Picoseconds timeout) override;
  // Spends the kernel's time for a wake-up; or, if no fiber waits at the call, the time of a system
  // call that does nothing (a mutex's unlock() calls although the only waiter may be the unlocking
  // thread). The latency of a wake-up begins with the call.
  void wake(const void* address, uint32_t most) override;
  void pin(uint32_t context) override;
  void pin_to_socket(uint32_t socket) override;

  uint64_t switches_given() const override { return given_; }
  uint64_t switches_taken() const override { return taken_; }
  // Returns how often a fiber waited for its turn in the order of the clocks, and how often another
  // one was then first.
  uint64_t waits_for_turn() const { return waits_for_turn_; }
  uint64_t turns_given() const { return turns_given_; }
  Picoseconds busy_time() const override;
  Picoseconds kernel_time() const override { return kernel_time_; }

 private:
  struct Timer {
    Picoseconds at;
    uint64_t order;
    Fiber* fiber;
    uint64_t wait;
    bool operator<(const Timer& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  void enter(Fiber* fiber) override;
  Fiber* after_end() override { return next(); }
  void push(Cpu* cpu);
  Fiber* next();
  Fiber* next_after(Cpu& cpu);
  Fiber* let_run(Cpu& cpu);
  void check(Cpu& cpu);
  bool timer_goes_first() const;
  void fire_timers();
  void put_first(Cpu& cpu, Fiber* fiber);
  void rotate(Cpu& cpu, bool preempted);
  void leave_cpu();
  void block();
  // Adds to the clock of the context the time that the kernel takes on it. The second function may
  // switch.
  void take_for_kernel(Cpu& cpu, Picoseconds time);
  void spend_in_kernel(Picoseconds time);
  void make_ready(Fiber* fiber, Picoseconds at, Picoseconds latency);
  Cpu* place(const Fiber& fiber);
  void set_busy(Cpu& cpu, bool busy);
  void add_stall(Cpu& cpu, Picoseconds time);
  void share_issue_slots(uint32_t core);
  void take_stack_to(uint32_t socket);
  Picoseconds jittered(Picoseconds latency);

  const Machine& machine_;
  Caches caches_;
  platform::Lcg jitter_;
  std::vector<std::unique_ptr<Cpu>> cpus_;  // the observer is the last
  const uint32_t cores_;
  ClockHeap heap_;  // contexts with a fiber that does not run now
  std::priority_queue<Timer> timers_;
  std::map<const void*, std::deque<Fiber*>> waiters_;
  uint64_t timers_made_ = 0, given_ = 0, taken_ = 0;
  uint64_t waits_for_turn_ = 0, turns_given_ = 0;
  Picoseconds kernel_time_ = 0;
};

// Returns the program's scheduler (flags.cc). The observer makes the first call, which creates it.
Scheduler& scheduler();

// Returns the socket from which memory is taken now.
uint32_t socket_here();
// While this object lives, the observer takes memory from the socket. A negative number changes
// nothing.
class OnSocket {
 public:
  explicit OnSocket(int socket);
  ~OnSocket();
  OnSocket(const OnSocket&) = delete;
  OnSocket& operator=(const OnSocket&) = delete;

 private:
  const uint32_t before_;
};

// While this object lives, the simulation itself runs, free of charge. At its end the fiber may be
// on another context.
class Uncharged {
 public:
  Uncharged() : charged_(running != nullptr) { running = nullptr; }
  ~Uncharged() {
    if (charged_) running = &scheduler().current_cpu();
  }
  Uncharged(const Uncharged&) = delete;
  Uncharged& operator=(const Uncharged&) = delete;

 private:
  const bool charged_;
};

// Does the same for a charged fiber that may let others run, but stays on its context.
class UnchargedHere {
 public:
  UnchargedHere() : cpu_(running) { running = nullptr; }
  ~UnchargedHere() { running = cpu_; }
  UnchargedHere(const UnchargedHere&) = delete;
  UnchargedHere& operator=(const UnchargedHere&) = delete;

  Cpu& cpu() const { return *cpu_; }

 private:
  Cpu* const cpu_;
};

}  // namespace logjam::sim
