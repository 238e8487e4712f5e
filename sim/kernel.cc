#include "sim/kernel.h"

#include <utility>

#include "platform/assert.h"
#include "sim/machine/scheduler.h"
#include "sim/region.h"

namespace logjam::sim {
namespace {

Kernel* in_place = nullptr;

constexpr size_t kStackBytes = size_t{1} << 20;
// Stacks begin in different sets of a cache, so that they do not evict each other's lines.
constexpr size_t kColours = 31, kColourBytes = 5 * kLineBytes;

// An allocator of boost::context's stacks in the region. A new fiber reuses an ended fiber's stack.
struct Stack {
  Fiber* fiber;

  static std::vector<void*>& free() {
    static auto& all = *new std::vector<void*>();
    return all;
  }

  boost::context::stack_context allocate() {
    void* base = nullptr;
    if (free().empty()) {
      base = take(kStackBytes, kPageBytes, 0);
    } else {
      base = free().back();
      free().pop_back();
    }
    boost::context::stack_context made;
    made.size = kStackBytes - fiber->id % kColours * kColourBytes;
    made.sp = static_cast<char*>(base) + made.size;
    fiber->stack_begin = static_cast<char*>(base);
    fiber->stack_end = static_cast<char*>(made.sp);
    return made;
  }
  void deallocate(boost::context::stack_context& given) {
    free().push_back(static_cast<char*>(given.sp) - given.size);
  }
};

}  // namespace

Kernel& kernel() { return in_place != nullptr ? *in_place : scheduler(); }
void put_kernel(Kernel* kernel) { in_place = kernel; }

Kernel::Kernel() {
  fibers_.push_back(std::make_unique<Fiber>());
  current_ = fibers_.back().get();
  current_->name = "main";
}

Fiber* Kernel::make_fiber(std::function<void()> body) {
  LJ_ASSERT(body != nullptr);
  fibers_.push_back(std::make_unique<Fiber>());
  Fiber* fiber = fibers_.back().get();
  fiber->id = static_cast<uint32_t>(fibers_.size() - 1);
  fiber->body_ = std::move(body);
  fiber->context_ = boost::context::fiber(std::allocator_arg, Stack{fiber},
                                          [this, fiber](boost::context::fiber&& caller) {
                                            previous_->context_ = std::move(caller);
                                            enter(fiber);
                                            Fiber* after = after_end();
                                            LJ_ASSERT(fiber->ended && !after->ended);
                                            previous_ = fiber;
                                            current_ = after;
                                            return std::move(after->context_);
                                          });
  return fiber;
}

std::vector<uint32_t> Kernel::stack_of(const Fiber& fiber, size_t most) const {
  constexpr size_t kSavedFramePointer = 6;  // the word's index in make_x86_64_sysv_elf_gas.S
  auto* frame = static_cast<void* const*>(__builtin_frame_address(0));
  if (&fiber != current_) {
    const auto* saved = static_cast<void* const*>(std::bit_cast<void* const*>(&fiber.context_)[0]);
    if (saved == nullptr) return {};
    frame = static_cast<void* const*>(saved[kSavedFramePointer]);
  }
  std::vector<uint32_t> addresses;
  while (addresses.size() < most && in_region(frame)) {
    addresses.push_back(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(frame[1])));
    auto* caller = static_cast<void* const*>(*frame);
    if (caller <= frame) break;
    frame = caller;
  }
  return addresses;
}

}  // namespace logjam::sim
