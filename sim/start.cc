// The start of the simulated program. The linker sends the call of main() to __wrap_main(), which
// runs main() as the observer.
#include <sys/personality.h>
#include <unistd.h>

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "platform/fatal.h"
#include "platform/test_value.h"
#include "sim/explore/explored_heap.h"
#include "sim/heap.h"
#include "sim/machine/block_costs.h"
#include "sim/machine/lines_report.h"
#include "sim/machine/scheduler.h"
#include "sim/region.h"

extern "C" int __real_main(int argc, char** argv);

namespace {

constexpr size_t kStackBytes = size_t{16} << 20;
// A test compares the rows of two ways to charge a block.
constexpr std::string_view kUnfolded = "sim_unfolded";
const logjam::platform::TestValue unfolded(kUnfolded);

// An allocator that keeps the stack until the process ends.
struct KeptStack {
  boost::context::stack_context allocate() { return {}; }
  void deallocate(boost::context::stack_context&) {}
};

// Starts the program again without randomized addresses, unless randomization is off already.
void start_without_randomization(char** argv) {
  const int now = personality(0xffffffff);
  if (now < 0 || (now & ADDR_NO_RANDOMIZE) != 0) return;
  if (personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) < 0) return;
  execv("/proc/self/exe", argv);
}

// Returns a flag's value, or "". The heap and the report need flags before gflags reads them.
std::string_view flag(int argc, char** argv, std::string_view name) {
  std::string_view value;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument(argv[i]);
    if (argument == name && i + 1 < argc) value = argv[i + 1];
    if (argument.starts_with(name) && argument.substr(name.size()).starts_with('=')) {
      value = argument.substr(name.size() + 1);
    }
  }
  return value;
}

}  // namespace

extern "C" int __wrap_main(int argc, char** argv) {
  start_without_randomization(argv);
  const bool explores = argc > 1 && std::string_view(argv[1]) == "explore";
  const bool by_the_hook = flag(argc, argv, "--test").find(kUnfolded) != std::string_view::npos;
  logjam::sim::read_block_costs(!explores && !by_the_hook);
  if (flag(argc, argv, "--report").starts_with("lines")) logjam::sim::begin_lines_report();
  logjam::sim::reserve_region();
  if (explores) logjam::sim::start_explored_heap();
  const std::string_view seed = flag(argc, argv, "--sim_seed");
  logjam::sim::start_heap(seed.empty() ? 1 : std::strtoull(seed.data(), nullptr, 10));
  // Other fibers access variables of main(). On the host's stack, accesses would have no price, and
  // addresses could differ between runs. So main() runs on a stack of the region.
  int result = 0;
  void* stack = logjam::sim::take(kStackBytes, logjam::sim::kPageBytes, 0);
  const boost::context::stack_context whole = {kStackBytes,
                                               static_cast<char*>(stack) + kStackBytes};
  boost::context::fiber observer(std::allocator_arg,
                                 boost::context::preallocated(whole.sp, kStackBytes, whole),
                                 KeptStack(), [&](boost::context::fiber&& caller) {
                                   result = __real_main(argc, argv);
                                   return std::move(caller);
                                 });
  std::move(observer).resume();
  logjam::sim::print_lines_report();
  return result;
}
