// How the kernel treats the workers of a run (--worker_class), so that busy workers do not hold up
// the log. A write completes in a kernel worker. If all cores are busy with threads of the normal
// class, the kernel worker and the log thread behind it wait for the next tick, up to 4 ms. Threads
// in the idle class are preempted at once.
//
// The idle class (SCHED_IDLE) alone is not enough everywhere. The scheduler compares the outermost
// groups that two threads are in, and kernel workers are in none. So while autogroup is on, the
// workers need a cgroup with cpu.idle = 1 (idle_group.h). Within another cgroup, a service
// manager's or a container's, neither has any effect: it is that group which would have to be idle.
//
// Protocol. The main thread makes the object before the run's threads start. Each worker calls
// join() on itself once, and no other thread does; join() reads members that no thread writes
// meanwhile. The main thread calls end() when the workers' threads have ended.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "platform/cpu_use.h"
#include "platform/fatal.h"
#include "platform/idle_group.h"
#include "platform/kernel_files.h"
#include "platform/thread.h"

namespace logjam::platform {

class WorkerClass {
 public:
  enum class Wanted : uint8_t {
    // The idle class if it helps, has an effect, and leaves the workers their cores, because other
    // programs use hardly any; the class that the process was started in if that is not normal;
    // else the normal class.
    kAuto,
    kNormal,
    kBatch,
    kIdle,  // even if it has no effect, and if others leave it little
  };
  struct Request {
    Wanted wanted = Wanted::kAuto;
    uint32_t workers = 1;
    bool preemption_helps = true;  // the run has busy workers, and commits that wait for writes
  };

  // Decides, and makes a cgroup if one is needed. A refusal (fatal.h) removes it again.
  explicit WorkerClass(const Request& request, const KernelFiles& kernel = {},
                       const std::function<bool(uint32_t)>& others_idle = others_are_idle);
  ~WorkerClass() { end(); }

  // Puts the calling thread, a worker, into the class.
  void join() const;
  // Removes what was made for the workers. Their threads have ended.
  void end();

  // What was granted, in a few words: "idle, cgroup v1", "idle, autogroup off", "normal".
  const std::string& granted() const { return granted_; }
  // Whether kernel workers and log threads preempt workers at once.
  bool preemptible() const { return preemptible_; }
  // One sentence: the class, and why this one.
  const std::string& reason() const { return reason_; }
  // What it costs not to be preemptible and the command that would help, in one sentence. Empty if
  // it costs nothing.
  const std::string& cost() const { return cost_; }

 private:
  void take_idle(const Request& request, const KernelFiles& kernel,
                 const std::function<bool(uint32_t)>& others_idle);
  void take(SchedulingClass scheduling, const std::string& why);
  bool enter() const;

  bool set_class_ = true;  // else the workers keep that of the process
  SchedulingClass class_ = SchedulingClass::kNormal;
  std::unique_ptr<IdleGroup> group_;
  std::string granted_, reason_, cost_, help_;
  bool preemptible_ = false;
  RefusalUndo undo_{[this] { end(); }};
};

}  // namespace logjam::platform
