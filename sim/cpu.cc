// Instructions, clocks, sleeping and write-back (platform/cpu.h, clock.h, park.h, persist.h) on the
// simulated machine. The compiler does not instrument this file, so Parker calls
// before_read_modify_write() before each of its atomic operations, and modified() after it.
#include "platform/cpu.h"

#include <algorithm>
#include <span>

#include "platform/assert.h"
#include "platform/cache_lines.h"
#include "platform/clock.h"
#include "platform/park.h"
#include "platform/persist.h"
#include "sim/explore/mapped_files.h"
#include "sim/machine/charge.h"
#include "sim/machine/scheduler.h"

namespace logjam::platform {
namespace {

constexpr sim::Picoseconds kNanosecond = 1000;

void modified(const atomic<uint32_t>& state) {
  if (sim::data_races == nullptr) return;
  sim::Explorer::now_exploring()->done(nullptr, &state, sizeof state,
                                       sim::Explorer::Operation::kModify, __ATOMIC_ACQ_REL);
}

}  // namespace

uint64_t ticks() {
  if (sim::running != nullptr) sim::running->now += sim::machine().ticks;
  return sim::kernel().now() / sim::machine().cycle;
}
void pause() { sim::kernel().pause(); }
void yield() { sim::kernel().yield(); }
void prefetch(const void* address) {
  sim::access(__builtin_return_address(0), address, 1, sim::Access::kPrefetch);
}

double ns_per_tick() { return static_cast<double>(sim::machine().cycle) / kNanosecond; }
uint64_t now_ns() {
  sim::Kernel& kernel = sim::kernel();
  kernel.spend(sim::machine().clock);
  return kernel.now() / kNanosecond;
}
void sleep_ns(uint64_t ns) { sim::kernel().sleep(ns * kNanosecond); }

void wait_on(const atomic<uint32_t>& word, uint32_t expected, uint64_t timeout_ns) {
  sim::Kernel& kernel = sim::kernel();
  // No other fiber runs between before_wait() and wait(), so no wake-up is lost.
  kernel.before_wait();
  if (word.load(memory_order_relaxed) != expected || timeout_ns == 0) return;
  const bool forever = timeout_ns > kForever / kNanosecond;
  kernel.wait(&word, forever ? 0 : timeout_ns * kNanosecond);
}
void wake_one(const atomic<uint32_t>& word) { sim::kernel().wake(&word, 1); }
void wake_all(const atomic<uint32_t>& word) { sim::kernel().wake(&word, ~uint32_t{0}); }
void Parker::park(uint64_t timeout_ns) {
  uint32_t seen = kEmpty;
  sim::before_read_modify_write(__builtin_return_address(0), &state_);
  const bool parked = state_.compare_exchange_strong(seen, kParked, memory_order_acq_rel);
  modified(state_);
  if (parked) {
    wait_on(state_, kParked, timeout_ns);
  } else {
    LJ_ASSERT(seen == kNotified);
  }
  sim::before_read_modify_write(__builtin_return_address(0), &state_);
  state_.exchange(kEmpty, memory_order_acq_rel);
  modified(state_);
}
void Parker::unpark() {
  sim::before_read_modify_write(__builtin_return_address(0), &state_);
  const bool parked = state_.exchange(kNotified, memory_order_acq_rel) == kParked;
  modified(state_);
  if (parked) wake_all(state_);
}

void write_back(const void* address, size_t bytes) {
  const auto lines = cache_lines_of(address, bytes);
  const sim::Machine& machine = sim::machine();
  if (!lines.empty()) {
    sim::kernel().spend(machine.write_back + (lines.size() - 1) * machine.write_back_line);
  }
  sim::before_fence();
  sim::write_back_lines(address, bytes);
}
const char* write_back_instruction() { return "clwb"; }
void spin_ticks(uint64_t wanted) { sim::kernel().spend(wanted * sim::machine().cycle); }

}  // namespace logjam::platform
