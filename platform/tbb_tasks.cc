#include "platform/tbb_tasks.h"

// Before 2021.6 oneTBB has its task_scheduler_handle only as a preview.
#define TBB_PREVIEW_WAITING_FOR_WORKERS 1
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_sort.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/version.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <new>

namespace logjam::platform {
namespace {

// Allows oneTBB `threads` threads, while the result lives. By default oneTBB has a thread for each
// core. The limit is never below this default, because the lowest limit in force applies to every
// call of the process.
//
// The handle keeps oneTBB's threads, which sleep between calls, until the process ends. Without the
// handle, oneTBB would end these threads when its last user returns, and start them again at the
// next call. It would also free memory that other threads have read, which ThreadSanitizer would
// report.
tbb::global_control allow(uint32_t threads) {
  alignas(tbb::task_scheduler_handle) static std::byte kept[sizeof(tbb::task_scheduler_handle)];
#if TBB_INTERFACE_VERSION >= 12060
  [[maybe_unused]] static const auto* const handle =
      new (kept) tbb::task_scheduler_handle(tbb::attach{});
#else
  [[maybe_unused]] static const auto* const handle =
      new (kept) tbb::task_scheduler_handle(tbb::task_scheduler_handle::get());
#endif
  const auto cores = static_cast<size_t>(tbb::info::default_concurrency());
  return {tbb::global_control::max_allowed_parallelism, std::max<size_t>(threads, cores)};
}

// Returns oneTBB's name of the node. If there is only one node, returns "automatic", which binds no
// thread. Without libtbbbind, oneTBB knows only one node.
tbb::numa_node_id node_of(int node) {
  if (node == NodeParts::kAnyNode) return tbb::task_arena::automatic;
  const std::vector<tbb::numa_node_id> nodes = tbb::info::numa_nodes();
  if (nodes.size() < 2) return tbb::task_arena::automatic;
  return nodes[static_cast<size_t>(node) % nodes.size()];
}

// One group's tasks, in an arena. A thread that waits in the arena runs only tasks of this arena.
// So a part that itself forks and joins does not begin another part of the outer call meanwhile.
struct Tasks {
  explicit Tasks(const NodeParts& group)
      : arena(tbb::task_arena::constraints{}
                  .set_numa_id(node_of(group.node))
                  .set_max_concurrency(static_cast<int>(group.threads))) {}
  tbb::task_arena arena;
  tbb::task_group group;
};

}  // namespace

void run_tasks(std::span<const NodeParts> groups, void (*run)(void* context, uint32_t part),
               void* context) {
  uint32_t threads = 0;
  for (const NodeParts& group : groups) threads += group.threads;
  const tbb::global_control allowed = allow(threads);
  std::deque<Tasks> tasks;
  for (const NodeParts& group : groups) {
    Tasks& here = tasks.emplace_back(group);
    here.arena.execute([&] {
      for (const uint32_t part : group.parts) {
        here.group.run([run, context, part] { run(context, part); });
      }
    });
  }
  for (Tasks& here : tasks) {
    here.arena.execute([&here] { here.group.wait(); });
  }
}

void sort_words(std::span<uint64_t> words, uint32_t threads) {
  const tbb::global_control allowed = allow(threads);
  tbb::task_arena arena(static_cast<int>(std::max(threads, uint32_t{1})));
  arena.execute([&] { tbb::parallel_sort(words.data(), words.data() + words.size()); });
}

}  // namespace logjam::platform
