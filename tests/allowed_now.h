// The hardware contexts that a thread may use at this moment, on a machine of any size.
#pragma once

#include <sched.h>

#include <array>
#include <set>

namespace logjam {

// Returns the kernel's numbers for `thread`; 0: the calling thread.
inline std::set<int> allowed_now(pid_t thread = 0) {
  std::array<cpu_set_t, 8> set = {};
  std::set<int> numbers;
  if (sched_getaffinity(thread, sizeof set, set.data()) != 0) return numbers;
  for (size_t number = 0; number < sizeof set * 8; ++number) {
    if (CPU_ISSET_S(number, sizeof set, set.data())) numbers.insert(static_cast<int>(number));
  }
  return numbers;
}

}  // namespace logjam
