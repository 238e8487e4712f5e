#include "platform/thread.h"

#include <numa.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "platform/atomic.h"

namespace logjam::platform {
namespace {

// The kernel's struct sched_attr, which glibc 2.36 does not declare.
struct SchedAttr {
  uint32_t size = sizeof(SchedAttr);
  uint32_t policy = SCHED_OTHER;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime_ns = 0;  // under SCHED_OTHER: the time slice, from Linux 6.12 on
  uint64_t deadline_ns = 0;
  uint64_t period_ns = 0;
};

}  // namespace

const std::vector<int>& allowed_cores() {
  static const std::vector<int> cores = [] {
    cpu_set_t set;
    std::vector<int> found;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
      for (int core = 0; core < CPU_SETSIZE; ++core) {
        if (CPU_ISSET(core, &set)) found.push_back(core);
      }
    }
    if (found.empty()) found.push_back(0);
    return found;
  }();
  return cores;
}

namespace {

atomic<size_t> first_core{0};  // number 0's place in allowed_cores()

int core_numbered(int index) {
  const auto& cores = allowed_cores();
  return cores[(first_core.load(memory_order_relaxed) + static_cast<size_t>(index)) % cores.size()];
}

}  // namespace

int core_count() { return static_cast<int>(allowed_cores().size()); }

int socket_count() { return numa_available() < 0 ? 1 : std::max(1, numa_num_configured_nodes()); }

int socket_of_core(int index) {
  if (numa_available() < 0) return 0;
  return std::max(0, numa_node_of_cpu(core_numbered(index)));
}

void pin_to_core(int index) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core_numbered(index), &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

bool set_scheduling_class(SchedulingClass wanted) {
  const int policy = wanted == SchedulingClass::kIdle    ? SCHED_IDLE
                     : wanted == SchedulingClass::kBatch ? SCHED_BATCH
                                                         : SCHED_OTHER;
  const sched_param no_priority = {};
  return sched_setscheduler(0, policy, &no_priority) == 0;  // 0: this thread
}

SchedulingClass scheduling_class() {
  switch (sched_getscheduler(0)) {
    case SCHED_IDLE:
      return SchedulingClass::kIdle;
    case SCHED_BATCH:
      return SchedulingClass::kBatch;
    case SCHED_OTHER:
      return SchedulingClass::kNormal;
    default:
      return SchedulingClass::kOther;
  }
}

bool count_cores_from(int core) {
  const auto& cores = allowed_cores();
  const auto found = std::find(cores.begin(), cores.end(), core);
  if (found == cores.end()) return false;
  first_core.store(static_cast<size_t>(found - cores.begin()), memory_order_relaxed);
  return true;
}

std::string favour_this_thread() {
  prctl(PR_SET_TIMERSLACK, 1);
  for (int nice : {-15, 0}) {
    SchedAttr attr;
    attr.nice = nice;
    attr.runtime_ns = 100'000;
    if (syscall(SYS_sched_setattr, 0, &attr, 0) == 0) {
      return nice < 0 ? "slice 0.1 ms, nice -15" : "slice 0.1 ms";
    }
  }
  return "none";
}

void name_this_thread(const std::string& name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

}  // namespace logjam::platform
