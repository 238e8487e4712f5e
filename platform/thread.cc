#include "platform/thread.h"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

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

void pin_to(const std::vector<int>& numbers) {
  if (numbers.empty()) return;
  const auto most = static_cast<size_t>(*std::ranges::max_element(numbers)) + 1;
  cpu_set_t* set = CPU_ALLOC(most);
  const size_t bytes = CPU_ALLOC_SIZE(most);
  CPU_ZERO_S(bytes, set);
  for (const int number : numbers) CPU_SET_S(static_cast<size_t>(number), bytes, set);
  pthread_setaffinity_np(pthread_self(), bytes, set);
  CPU_FREE(set);
}

}  // namespace

void pin_to_core(int index) { pin_to({placement().of(static_cast<uint32_t>(index)).number}); }

void pin_to_socket(int socket) {
  if (socket == kNoSocket || socket_count() == 1) return;
  std::vector<int> numbers;
  for (const HardwareContext& context : placement().order()) {
    if (context.socket == socket) numbers.push_back(context.number);
  }
  pin_to(numbers);
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
