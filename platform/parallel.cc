#include "platform/parallel.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "platform/tbb_tasks.h"
#include "platform/topology.h"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>

// Functions of the sanitizer's run-time library, whose headers do not declare them.
extern "C" void __tsan_ignore_thread_begin();
extern "C" void __tsan_ignore_thread_end();
#endif

namespace logjam::platform {
namespace {

#if defined(__SANITIZE_THREAD__)
void happens_before(char& edge) { __tsan_release(&edge); }
void happens_after(char& edge) { __tsan_acquire(&edge); }

thread_local bool in_libtbb = false;  // true in Call::run, except in a body

// Says, until the end of the scope, whether the calling thread is in libtbb. If it is, its reads
// and writes are hidden from ThreadSanitizer. allocate_arena() of libtbb calls memset() on memory
// of an earlier arena, and ThreadSanitizer does not see how libtbb orders the two uses.
class InLibtbb {
 public:
  explicit InLibtbb(bool inside) : before_(in_libtbb) { change_to(inside); }
  ~InLibtbb() { change_to(before_); }
  InLibtbb(const InLibtbb&) = delete;
  InLibtbb& operator=(const InLibtbb&) = delete;

 private:
  static void change_to(bool inside) {
    if (inside == in_libtbb) return;
    in_libtbb = inside;
    inside ? __tsan_ignore_thread_begin() : __tsan_ignore_thread_end();
  }
  const bool before_;
};
#else
void happens_before(char&) {}
void happens_after(char&) {}
class InLibtbb {
 public:
  explicit InLibtbb(bool) {}
};
#endif

// libtbb loads libtbbbind, which knows the NUMA nodes, with RTLD_DEEPBIND. With this flag, the
// sanitizers end the process, so in their builds libtbbbind is not loaded.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kMayLoadTbbbind = false;
#else
constexpr bool kMayLoadTbbbind = true;
#endif

// A call's body, with the two orders of the protocol in parallel.h. Each order has its own address,
// so that ThreadSanitizer does not take either of them for an order among parts.
struct Call {
  FunctionRef<void(uint32_t)> body;
  char fork = 0;
  char join = 0;

  void run(std::span<const NodeParts> groups) {
    happens_before(fork);
    {
      const InLibtbb inside(true);
      run_tasks(groups, &Call::run_part, this);
    }
    happens_after(join);
  }

  static void run_part(void* call, uint32_t part) noexcept {
    const InLibtbb outside(false);
    auto& self = *static_cast<Call*>(call);
    happens_after(self.fork);
    self.body(part);
    happens_before(self.join);
  }
};

}  // namespace

void parallel_for_parts(uint32_t parts, uint32_t threads,
                        FunctionRef<void(uint32_t)> body) noexcept {
  threads = std::min(threads, parts);
  if (threads <= 1) {
    for (uint32_t part = 0; part < parts; ++part) body(part);
    return;
  }
  NodeParts all{.node = NodeParts::kAnyNode, .threads = threads, .parts = {}};
  for (uint32_t part = 0; part < parts; ++part) all.parts.push_back(part);
  Call{body}.run({&all, 1});
}

void parallel_for_parts_by_node(uint32_t parts, FunctionRef<int(uint32_t)> node_of,
                                FunctionRef<void(uint32_t)> body) noexcept {
  std::map<int, NodeParts> by_node;
  for (uint32_t part = 0; part < parts; ++part) {
    NodeParts& group = by_node[node_of(part)];
    group.parts.push_back(part);
    ++group.threads;
  }
  const bool bind = kMayLoadTbbbind && this_machine().nodes() > 1;
  std::vector<NodeParts> groups;
  for (auto& [node, group] : by_node) {
    if (bind) group.node = node;
    groups.push_back(std::move(group));
  }
  Call{body}.run(groups);
}

void parallel_sort(std::span<uint64_t> words, uint32_t threads) {
#if defined(__SANITIZE_THREAD__)
  // Sorts on one thread: on libtbb's threads std::sort would call memmove(), which the sanitizer
  // intercepts.
  threads = 1;
#endif
  constexpr size_t kFewWords = 10'000;  // one thread sorts fewer words faster
  if (words.size() < kFewWords) threads = 1;
  threads <= 1 ? std::sort(words.begin(), words.end()) : sort_words(words, threads);
}

}  // namespace logjam::platform
