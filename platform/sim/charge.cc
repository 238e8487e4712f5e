#include "platform/sim/charge.h"

#include <algorithm>

#include "platform/sim/lines_report.h"

namespace logjam::sim {
namespace {

Picoseconds overlapped(Picoseconds cost) {
  return static_cast<Picoseconds>(static_cast<double>(cost) / machine().profile.overlap);
}

// The core waits for a line, unless it may go on.
void wait_for(const void* site, Cpu& cpu, uint32_t line, Access kind) {
  Caches& caches = scheduler().caches();
  Core& core = *cpu.core;
  const bool write = kind == Access::kStore || kind == Access::kAtomic;
  Picoseconds cost = 0;
  bool near = caches.in_private_cache(core, line, write, &cost);
  if (!near) {
    scheduler().visible();
    // Another fiber of the core may have fetched it meanwhile.
    near = core.l1.touch(line, write) || caches.in_private_cache(core, line, write, &cost);
  }
  // What the core does meanwhile hides a part of a short wait, and of stores that wait side by
  // side. A line from farther away is mostly found through a pointer, and what follows depends on
  // it: such waits do not overlap. A line that the hardware has fetched ahead is there.
  Picoseconds hidden = overlapped(cost);
  if (!near) {
    const bool in_stream = kind != Access::kAtomic && caches.continues_stream(core, line);
    cost = caches.fetch(core, line, write, cpu.now);
    note_transfer(site, line, core.number, cost);
    if (in_stream) cost = std::min(cost, machine().stream);
    hidden = kind == Access::kStore && !in_stream ? overlapped(cost) : cost;
  }
  switch (kind) {
    case Access::kPrefetch:
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
  if (running->now > horizon) scheduler().visible();
  const Uncharged free;
  Cpu& cpu = scheduler().current_cpu();
  drain_stores(cpu);
  const uint32_t line = line_of(address);
  if (line != kNoLine) {
    const uint32_t resolved = resolve_alias(line);
    if (!cpu.core->l1.touch(resolved, true)) wait_for(site, cpu, resolved, Access::kAtomic);
  }
  cpu.now += machine().rmw;
}

void before_fence() {
  if (running == nullptr) return;
  if (running->now > horizon) scheduler().visible();
  drain_stores(*running);
  running->now += machine().fence;
}

}  // namespace logjam::sim
