#include "sim/charge.h"

#include <algorithm>

#include "sim/lines_report.h"

namespace logjam::sim {

uint64_t accesses = 0;

namespace {

// The hardware notices a stream after this number of lines, and fetches the next ones ahead.
// Assumed: of one, two and three, two gave rates of rows and log records nearest to the native
// ones.
constexpr uint32_t kLinesBeforePrefetch = 2;

Picoseconds overlapped(Picoseconds cost) {
  return static_cast<Picoseconds>(static_cast<double>(cost) / machine().profile.overlap);
}

// Returns how long a core that asks for the next line of a stream still waits for it. The hardware
// fetches one line of the stream after the other, up to `lines_ahead` before the core asks. So a
// core that asks rarely finds its lines already fetched, and one that copies much waits for each.
Picoseconds wait_for_prefetcher(Core::Stream& stream, Picoseconds price, Picoseconds asked) {
  const auto lead =
      static_cast<Picoseconds>(machine().profile.lines_ahead * static_cast<double>(price));
  stream.ready = std::max(stream.ready, asked - std::min(asked, lead)) + price;
  return stream.ready - std::min(stream.ready, asked);
}

// Returns how long the core waits for a miss that takes `missed.cost`.
Picoseconds wait_for_miss(Cpu& cpu, uint32_t line, Access kind, Caches::Fetched missed) {
  Core::Stream& stream = Caches::stream_of(*cpu.core, line);
  const bool store = kind == Access::kStore;
  const Picoseconds asked = store ? std::max(cpu.now, cpu.stores_done_at) : cpu.now;
  const Picoseconds alone = store || stream.lines > 0 ? overlapped(missed.cost) : missed.cost;
  if (stream.lines < kLinesBeforePrefetch) {
    stream.ready = asked + alone;
    return alone;
  }
  const Picoseconds far = store ? machine().stream_store : machine().stream;
  const Picoseconds price = missed.from_shared_cache ? machine().l3_stream : far;
  return wait_for_prefetcher(stream, std::min(price, alone), asked);
}

// Makes the core wait for a line, unless it can continue without it.
void wait_for(const void* site, Cpu& cpu, uint32_t line, Access kind) {
  Caches& caches = scheduler().caches();
  Core& core = *cpu.core;
  const bool write = kind == Access::kStore || kind == Access::kAtomic;
  Picoseconds cost = 0;
  bool near = caches.in_private_cache(core, line, write, &cost);
  if (!near) {
    caches.expect(core, line);
    scheduler().visible();
    caches.expect_fetch(core, line);
    // Meanwhile another fiber of the core may have fetched the line.
    near = core.l1.touch(line, write) || caches.in_private_cache(core, line, write, &cost);
  }
  // The core's other work hides a part of a short wait, and of stores that wait side by side. A
  // line from farther away is mostly found through a pointer, and the next steps depend on it, so
  // such waits do not overlap. Waits for lines in a row overlap, and the hardware fetches the later
  // lines ahead.
  Picoseconds hidden = overlapped(cost);
  if (!near) {
    const Picoseconds asked = cpu.now;
    // The owner uses the line until the request reaches it. The request of a store or a prefetch is
    // not followed: the core does not wait for it, and its clock would have to go back.
    const bool waits = kind == Access::kLoad || kind == Access::kAtomic;
    const Caches::Heard heard =
        waits ? caches.heard_by_owner(core, line, asked) : Caches::Heard{asked, 0};
    cpu.now = heard.at;
    if (cpu.now > horizon) scheduler().visible();
    const Caches::Fetched fetched = caches.fetch(core, line, write, cpu.now, heard.passed);
    cost = cpu.now - asked + fetched.cost;
    cpu.now = asked;
    note_transfer(site, line, core.number, cost);
    if (kind != Access::kAtomic) {
      hidden = wait_for_miss(cpu, line, kind, {cost, fetched.from_shared_cache});
    }
  }
  switch (kind) {
    case Access::kPrefetch:
      if (!near) cpu.prefetch(line, cpu.now + hidden);
      return;
    case Access::kAtomic:
      cpu.now += cost;
      return;
    case Access::kLoad:
      cpu.now += hidden;
      return;
    case Access::kStore:
      cpu.stores_done_at = std::max(cpu.stores_done_at, cpu.now) + hidden;
      cpu.now = std::max(cpu.now,
                         cpu.stores_done_at - std::min(cpu.stores_done_at, machine().store_lead));
      return;
  }
}

void drain_stores(Cpu& cpu) { cpu.now = std::max(cpu.now, cpu.stores_done_at); }

}  // namespace

void access_line(const void* site, uint32_t line, Access kind) {
  const Uncharged free;
  Cpu& cpu = scheduler().current_cpu();
  line = resolve_alias(line);
  const bool write = kind == Access::kStore || kind == Access::kAtomic;
  if (cpu.core->l1.touch(line, write)) return;
  wait_for(site, cpu, line, kind);
}

void before_atomic_load(const void* site, const void* address) {
  if (running == nullptr) return;
  if (running->now > horizon) scheduler().visible();
  access(site, address, 1, Access::kLoad);
}

void before_atomic_store(const void* site, const void* address, bool sequentially_consistent) {
  if (sequentially_consistent) return before_read_modify_write(site, address);
  if (running == nullptr) return;
  if (running->now > horizon) scheduler().visible();
  access(site, address, 1, Access::kStore);
}

void before_read_modify_write(const void* site, const void* address) {
  if (running == nullptr) return;
  ++accesses;
  if (running->now > horizon) scheduler().visible();
  const Uncharged free;
  Cpu& cpu = scheduler().current_cpu();
  drain_stores(cpu);
  const uint32_t line = line_of(address);
  if (line != kNoLine) {
    const uint32_t resolved = resolve_alias(line);
    if (!cpu.core->l1.touch(resolved, true)) {
      wait_for(site, cpu, resolved, Access::kAtomic);
    } else if (cpu.prefetches_end > cpu.now) {
      cpu.await_prefetch(resolved);
    }
  }
  cpu.now += machine().rmw;
}

// Charges a fence. It only costs time: execution is sequentially consistent without it
// (scheduler.h).
void before_fence() {
  if (running == nullptr) return;
  if (running->now > horizon) scheduler().visible();
  drain_stores(*running);
  running->now += machine().fence;
}

}  // namespace logjam::sim
