#include "platform/thread.h"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <vector>

#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/fatal.h"
#include "platform/topology.h"

namespace logjam::platform {
namespace {

constexpr size_t kMostContexts = 8192;  // of Linux on x86-64

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

constexpr int kPolicies[] = {SCHED_OTHER, SCHED_BATCH, SCHED_IDLE};  // by SchedulingClass

// The errno of the first thread that could not be pinned to its core, or kMoved; 0: none.
atomic<int> pin_error{0};
constexpr int kMoved = -1;  // a thread's set of allowed cores was changed while it ran

void note_pin_error(int error) {
  int none = 0;
  if (error != 0) pin_error.compare_exchange_strong(none, error, memory_order_relaxed);
}

int pin_to(const std::vector<int>& numbers) {
  if (numbers.empty()) return 0;
  const auto most = static_cast<size_t>(*std::ranges::max_element(numbers)) + 1;
  cpu_set_t* set = CPU_ALLOC(most);
  const size_t bytes = CPU_ALLOC_SIZE(most);
  CPU_ZERO_S(bytes, set);
  for (const int number : numbers) CPU_SET_S(static_cast<size_t>(number), bytes, set);
  const int error = pthread_setaffinity_np(pthread_self(), bytes, set);
  CPU_FREE(set);
  return error;
}

// Returns the contexts that a thread may use; 0: the calling thread. Sets errno and returns none if
// the kernel does not say.
std::vector<int> allowed_numbers(pid_t thread) {
  std::vector<cpu_set_t> set(CPU_ALLOC_SIZE(kMostContexts) / sizeof(cpu_set_t));
  const size_t bytes = set.size() * sizeof(cpu_set_t);
  std::vector<int> numbers;
  if (sched_getaffinity(thread, bytes, set.data()) != 0) return numbers;
  for (size_t number = 0; number < kMostContexts; ++number) {
    if (CPU_ISSET_S(number, bytes, set.data())) numbers.push_back(static_cast<int>(number));
  }
  return numbers;
}

int number_of(int index) {
  LJ_ASSERT(index >= 0);
  return placement().of(static_cast<uint32_t>(index)).number;
}

}  // namespace

void pin_to_core(int index) { note_pin_error(pin_to({number_of(index)})); }

void look_at_pin(int index) {
  note_pin_error(allowed_numbers(0) == std::vector{number_of(index)} ? 0 : kMoved);
}

std::string why_not_pinned() {
  const int error = pin_error.load(memory_order_relaxed);
  if (error == kMoved) return "the cores that the process may use changed while it ran";
  return error == 0 ? "" : strerror(error);
}

void pin_to_socket(int socket) {
  if (socket == kNoSocket || socket_count() == 1) return;
  std::vector<int> numbers;
  for (const HardwareContext& context : placement().order()) {
    if (context.socket == socket) numbers.push_back(context.number);
  }
  note_pin_error(pin_to(numbers));
}

bool set_scheduling_class(SchedulingClass wanted) {
  LJ_ASSERT(wanted != SchedulingClass::kOther);
  const sched_param no_priority = {};
  return sched_setscheduler(0, kPolicies[static_cast<size_t>(wanted)], &no_priority) == 0;
}

SchedulingClass scheduling_class() {
  const auto* const found = std::ranges::find(kPolicies, sched_getscheduler(0));  // of this thread
  return static_cast<SchedulingClass>(found - std::begin(kPolicies));
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

const Topology& this_machine() {
  // The main thread's contexts are those of the process, whichever thread calls.
  static const Topology machine = [] {
    const std::vector<int> allowed = allowed_numbers(getpid());
    if (allowed.empty()) {
      fail("the kernel does not say which cores this process may use: " +
           std::string(strerror(errno)));
    }
    return Topology::of_host(allowed);
  }();
  return machine;
}

}  // namespace logjam::platform
