// The part of oneTBB that parallel.cc uses. Only tbb_tasks.cc includes oneTBB's headers. Its object
// is compiled without ThreadSanitizer's instrumentation, as libtbb is. libtbb orders two threads'
// accesses to a task object, but the sanitizer does not see this order, and would report a race.
// The functions that tasks call are instrumented.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace logjam::platform {

// The parts of a call that run on one node, at most `threads` at a time.
struct NodeParts {
  static constexpr int kAnyNode = -1;  // threads are not bound to a node
  int node = kAnyNode;
  uint32_t threads = 0;
  std::vector<uint32_t> parts;
};

// Calls run(context, part) for each part of each group and waits for all. Groups run side by side,
// each in a task arena of its own; the caller works in the groups one after the other.
void run_tasks(std::span<const NodeParts> groups, void (*run)(void* context, uint32_t part),
               void* context);

void sort_words(std::span<uint64_t> words, uint32_t threads);

}  // namespace logjam::platform
