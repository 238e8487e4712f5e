// The scheduling class of a run's workers (--worker_class), chosen so that busy workers do not hold
// up the log. A write completes in a kernel worker, which then wakes the log thread. If all cores
// are busy with threads of the normal class, kernel worker and log thread wait for the next tick,
// up to 4 ms. Threads in the idle class are preempted at once.
//
// The idle class (SCHED_IDLE) alone is not enough everywhere. The scheduler compares the outermost
// groups of two threads, and kernel workers are in no group. So while autogroup is on, the workers
// need a cgroup with cpu.idle = 1 (idle_group.h). Inside a cgroup of a service manager or a
// container, neither the class nor such a cgroup has an effect: the outer group would have to be
// idle.
//
// Nor is a group with cpu.idle always enough. A thread that wakes up preempts it at once. But when
// a core's thread goes to sleep while another thread is ready, EEVDF may choose the idle group: the
// group has waited for long, and so its turn has come. The worker then keeps the core until the
// next tick. So workers yield periodically (PeriodicYield).
//
// Protocol. The main thread makes the object before the run's threads start. Each worker calls
// join() on itself once, which reads members that no thread writes while workers run. The main
// thread calls end() when the workers' threads have ended.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "platform/clock.h"
#include "platform/cpu.h"
#include "platform/cpu_use.h"
#include "platform/fatal.h"
#include "platform/idle_group.h"
#include "platform/kernel_files.h"
#include "platform/thread.h"

namespace logjam::platform {

class WorkerClass {
 public:
  enum class Wanted : uint8_t {
    // Keeps the class of the process if it is not the normal class. Otherwise takes the idle class
    // if it helps, has an effect, and other programs use little processor time; else the normal.
    kAuto,
    kNormal,
    kBatch,
    kIdle,  // even without effect, or if other programs leave workers little time
  };
  struct Request {
    Wanted wanted = Wanted::kAuto;
    uint32_t workers = 1;
    bool preemption_helps = true;  // the run has busy workers, and commits that wait for writes
  };

  // Chooses the class, and makes a cgroup if one is needed. After a refusal no cgroup remains.
  explicit WorkerClass(const Request& request, const KernelFiles& kernel = {},
                       const std::function<bool(uint32_t)>& others_idle = others_are_idle);
  ~WorkerClass() { end(); }

  // Puts the calling thread, a worker, into the class.
  void join() const;
  // Removes the cgroup, if there is one.
  void end();

  // Returns what the kernel granted: "idle, cgroup v1", "idle, autogroup off", "normal".
  const std::string& granted() const { return granted_; }
  // Returns whether kernel workers and log threads preempt workers at once.
  bool preemptible() const { return preemptible_; }
  const std::string& reason() const { return reason_; }
  // Returns, in one sentence, what it costs that workers are not preemptible, and the command that
  // would help. Empty if it costs nothing.
  const std::string& cost() const { return cost_; }

 private:
  void take_idle(const Request& request, const KernelFiles& kernel,
                 const std::function<bool(uint32_t)>& others_idle);
  void take(SchedulingClass scheduling, const std::string& why);
  bool enter() const;

  bool set_class_ = true;  // if not, the workers keep the class of the process
  SchedulingClass class_ = SchedulingClass::kNormal;
  std::unique_ptr<IdleGroup> group_;
  std::string granted_, reason_, cost_, help_;
  bool preemptible_ = false;
};

// Yields the core of a worker every 100 us, if other threads preempt workers. The yield lets the
// kernel choose again: a worker that has just run is no longer due, so a waiting log thread gets
// the core. If no thread waits, the yield costs 0.4 us. One worker uses an object.
class PeriodicYield {
 public:
  // Makes the yields of a worker of `workers`. Null: no other thread preempts the worker.
  explicit PeriodicYield(const WorkerClass* workers)
      : period_ticks_(workers != nullptr && workers->preemptible() ? ns_to_ticks(100e3) : 0) {}

  // Calls yield() if it is due. A worker calls this function between two transactions.
  void at(uint64_t now) {
    if (due(now)) yield();
  }
  // Returns whether the worker has to yield at `now`, in ticks. Then the next yield is due a period
  // later.
  bool due(uint64_t now) {
    if (period_ticks_ == 0 || now < next_) return false;
    next_ = now + period_ticks_;
    return true;
  }

 private:
  const uint64_t period_ticks_;
  uint64_t next_ = 0;
};

}  // namespace logjam::platform
