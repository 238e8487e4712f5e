// The native machine. A simulated one has its own this_machine().
#include <sched.h>
#include <unistd.h>

#include <vector>

#include "platform/topology.h"

namespace logjam::platform {
namespace {

// Returns the contexts that the process was started with. Asks for those of the main thread, so
// that the answer is the same for every calling thread.
std::vector<int> allowed_numbers() {
  constexpr size_t kMostContexts = 8192;  // of Linux on x86-64
  std::vector<cpu_set_t> set(CPU_ALLOC_SIZE(kMostContexts) / sizeof(cpu_set_t));
  const size_t bytes = set.size() * sizeof(cpu_set_t);
  std::vector<int> numbers;
  if (sched_getaffinity(getpid(), bytes, set.data()) == 0) {
    for (size_t number = 0; number < kMostContexts; ++number) {
      if (CPU_ISSET_S(number, bytes, set.data())) numbers.push_back(static_cast<int>(number));
    }
  }
  if (numbers.empty()) numbers.push_back(0);
  return numbers;
}

}  // namespace

const Topology& this_machine() {
  static const Topology machine = Topology::of_host(allowed_numbers());
  return machine;
}

}  // namespace logjam::platform
