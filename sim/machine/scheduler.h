// Virtual threads (fibers) on virtual hardware contexts (Cpu), each of which has a clock.
// docs/SIMULATION.md describes the order of steps, the simulated operating system, and what is not
// exact.
//
// Before a step that other cores can see, a fiber calls visible(), which lets every context with an
// earlier clock run first. All other steps happen at once, and the fiber's clock runs ahead.
//
// Protocol. There is one host thread, so no field needs an ordering. A function that may switch
// fibers says so; every other fiber may run during its call. `running` is null while the simulation
// itself works or the observer (the main thread) runs: the hooks then charge nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
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
  Fiber* fiber = nullptr;          // the fiber that runs here; null: idle
  std::deque<Fiber*> ready;
  uint32_t fibers = 0;  // that have not ended, and run here or ran here last
  Picoseconds slice_end = 0;
  bool preempt = false;  // a favoured fiber is at the front of the queue
  Picoseconds busy_since = 0, busy = 0;
  // The fraction of the last window (kIssueWindow) in which the context took issue slots. A context
  // takes issue slots unless it waits for a cache line or pauses.
  double issues = 0;
  Picoseconds window_begin = 0, stalled = 0;
  Picoseconds checked = 0;  // the clock at the last check()

  // Records that a prefetch has put the tag of `line` into the L1. The line arrives at `comes`.
  void prefetch(uint32_t line, Picoseconds comes) {
    prefetched[next_prefetch++ % prefetched.size()] = {line, comes};
    prefetches_end = std::max(prefetches_end, comes);
  }
  // Waits until the line has arrived, if prefetch() was called for it.
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
// The latest clock at which the running fiber may still make visible steps.
extern Picoseconds horizon;
// The caches that the observer's accesses warm; null if they warm none, or a context runs.
extern Caches* warmed;
// Whether the measured time has ended. When no other fiber is left then, the observer's accesses no
// longer warm caches, because no result depends on them.
extern bool measured;

class Scheduler final : public Kernel {
 public:
  explicit Scheduler(const Machine& machine);
  ~Scheduler() override { warmed = nullptr; }

  Caches& caches() { return caches_; }
  Cpu& current_cpu() { return *current_->cpu; }
  bool observing() const override { return current_->cpu->core == nullptr; }
  Picoseconds now() const override { return current_->cpu->now; }
  Fiber* spawn(std::function<void()> body) override;

  // The functions from here to pin_to_socket() may switch fibers.

  // Lets every context with an earlier clock run first. Call it when now() is past `horizon`.
  void visible();
  void spend(Picoseconds time) override;
  // Records that the context has waited for `time`, and has left its issue slots to its siblings.
  void note_stall(Cpu& cpu, Picoseconds time) {
    if (machine_.profile.contexts > 1) add_stall(cpu, time);
  }
  void yield() override;
  void pause() override;
  void sleep(Picoseconds time) override;
  void join(Fiber* fiber) override;
  void before_wait() override;
  void wait(const void* address, Picoseconds timeout) override;
  // Costs only a system call if no fiber waits on the address. A mutex's unlock() calls wake()
  // even if the only waiter was the thread that unlocks. The wake-up latency counts from the call.
  void wake(const void* address, uint32_t most) override;
  void pin(uint32_t context) override;
  void pin_to_socket(uint32_t socket) override;

  Usage usage() const override;
  // Returns how often a fiber called visible(), and how often another fiber then ran first.
  uint64_t waits_for_turn() const { return waits_for_turn_; }
  uint64_t turns_given() const { return turns_given_; }

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
  bool only_the_observer_is_left() const;
  bool timer_goes_first() const;
  void fire_timers();
  void put_first(Cpu& cpu, Fiber* fiber);
  void rotate(Cpu& cpu, bool preempted);
  void start_next(Cpu& cpu, Picoseconds more);
  void leave_cpu();
  void block();
  // Moves the context's clock forward by `time`, which the kernel takes on this context.
  void take_for_kernel(Cpu& cpu, Picoseconds time);
  // Moves the clock of the current fiber by `time`. May switch fibers.
  void spend_in_kernel(Picoseconds time);
  void make_ready(Fiber* fiber, Picoseconds at, Picoseconds latency);
  Cpu* place(const Fiber& fiber);
  static void assign(Fiber* fiber, Cpu* cpu);
  void set_busy(Cpu& cpu, bool busy);
  void add_stall(Cpu& cpu, Picoseconds time);
  void share_issue_slots(uint32_t core);
  void move_to(uint32_t socket, Cpu* to);
  Picoseconds jittered(Picoseconds latency);

  const Machine& machine_;
  Caches caches_;
  platform::Lcg jitter_;
  std::vector<std::unique_ptr<Cpu>> cpus_;  // the observer is the last
  const uint32_t cores_;
  ClockHeap heap_;  // contexts with a fiber that does not run now
  std::priority_queue<Timer> timers_;
  std::map<const void*, std::deque<Fiber*>> waiters_;
  uint64_t timers_made_ = 0, waits_for_turn_ = 0, turns_given_ = 0;
  Usage usage_;  // without the busy time
};

// Returns the program's scheduler (flags.cc). The observer makes the first call, which creates it.
Scheduler& scheduler();

uint32_t socket_here();
// Makes the observer's allocations take memory from `socket`, unless `socket` is negative. Returns
// the socket from which they took memory before.
int observe_from(int socket);

// While this object lives, the simulation itself runs, and nothing is charged. The fiber may change
// its context.
class Uncharged {
 public:
  Uncharged() : cpu_(running) { running = nullptr; }
  ~Uncharged() {
    if (cpu_ != nullptr) running = &scheduler().current_cpu();
  }
  Uncharged(const Uncharged&) = delete;
  Uncharged& operator=(const Uncharged&) = delete;

  // Returns the context that was charged when the object was made.
  Cpu& cpu() const { return *cpu_; }

 private:
  Cpu* const cpu_;
};

}  // namespace logjam::sim
