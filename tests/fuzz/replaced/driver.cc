// The functions that libFuzzer calls. The environment variable LOGJAM_FUZZ names the target.
// Without the variable the program prints each target, and the length of its longest input.
#include <gflags/gflags.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "platform/fatal.h"
#include "tests/fuzz/replaced/process_ended.h"
#include "tests/fuzz/target.h"

// NOLINTBEGIN(readability-identifier-naming, bugprone-reserved-identifier): names of libFuzzer.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed);

namespace logjam::fuzz {
namespace {

// One in this number of mutated inputs keeps its wrong checksums. All other inputs are mended.
constexpr uint64_t kMended = 16;

// A copy of the target's `keeps_memory`: the list of targets is gone when the process ends.
bool keeps_memory = false;

const FuzzTarget& target() {
  static const FuzzTarget& chosen = []() -> const FuzzTarget& {
    const char* name = std::getenv("LOGJAM_FUZZ");
    const FuzzTarget* found = name == nullptr ? nullptr : FuzzTargets::find(name);
    if (found != nullptr) return *found;
    for (const FuzzTarget& each : FuzzTargets::all()) {
      std::printf("%.*s %zu\n", static_cast<int>(each.name.size()), each.name.data(),
                  each.most_bytes);
    }
    std::fflush(stdout);
    std::_Exit(name == nullptr ? 0 : 2);
  }();
  return chosen;
}

}  // namespace
}  // namespace logjam::fuzz

using namespace logjam::fuzz;

int LLVMFuzzerInitialize(int*, char***) {
  keeps_memory = target().keeps_memory;
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    target().run({reinterpret_cast<const std::byte*>(data), size});
  } catch (const ProcessEnded&) {
  } catch (const logjam::platform::CommandError&) {
  }
  if (!target().keeps_memory) free_arenas();
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, most);
  logjam::platform::SplitMix64 random(seed);
  if (target().mend == nullptr || random.next() % kMended == 0) return size;
  std::vector<std::byte> input(size);
  if (size != 0) std::memcpy(input.data(), data, size);
  target().mend(input, random);
  size = std::min(input.size(), most);
  if (size != 0) std::memcpy(data, input.data(), size);
  return size;
}

// The quarantine of freed memory may be small, because a wrong use follows soon after the free.
const char* __asan_default_options() { return "quarantine_size_mb=8:malloc_context_size=6"; }

// Turns the leak check off for targets that keep memory. Otherwise the check scans all kept memory
// after each input that allocates memory to keep.
int __lsan_is_turned_off() { return keeps_memory ? 1 : 0; }
// NOLINTEND(readability-identifier-naming, bugprone-reserved-identifier)
