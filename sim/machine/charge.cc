#include "sim/machine/charge.h"

#include <algorithm>

#include "sim/machine/lines_report.h"

namespace logjam::sim {

uint64_t accesses = 0, executed = 0, fetched_ahead = 0;

namespace {

// A request that has reached the line's owner.
struct Request {
  Picoseconds asked;  // when the core sends it
  Caches::Heard heard;
};

// Waits until the line's owner has received the request of a load or an atomic operation: until
// then the owner uses the line. If another fiber of the context runs during the wait, the request
// becomes later, because the context's clock cannot go back. A store or a prefetch does not wait,
// because its core continues.
Request reach_owner(Cpu& cpu, uint32_t line, Access kind) {
  const Picoseconds asked = cpu.now;
  if (kind != Access::kLoad && kind != Access::kAtomic) return {asked, {asked, 0}};
  Caches::Heard heard = scheduler().caches().heard_by_owner(*cpu.core, line, asked);
  const Picoseconds way = heard.at - asked;
  cpu.now = heard.at;
  if (cpu.now > horizon) scheduler().visible();
  heard.at = cpu.now;
  return {cpu.now - way, heard};
}

// Retires a store that completes at `done`. The core waits only if its store buffer is full.
void retire_store(Cpu& cpu, Picoseconds done) {
  cpu.stores_done_at = done;
  cpu.now = std::max(cpu.now, done - std::min(done, machine().store_lead));
}

// The price of a miss (docs/SIMULATION.md). A load that follows no other miss costs its whole
// latency, because the next steps mostly depend on this load. Misses of consecutive lines overlap.
// Misses of stores overlap, too, because a core asks for a store's line before it executes the
// store (docs/VALIDATION.md).
//
// A core never has a line before the line arrives. Therefore the waits for a line that is under way
// and for busy memory count in full, or delay the prefetcher.

bool is_prefetched(const Machine& machine, const Core::Stream& stream,
                   const Caches::Fetched& fetched) {
  return stream.lines >= machine.profile.lines_noticed &&
         (fetched.source == Source::kMemory || fetched.source == Source::kSharedCache);
}

// Returns the time between the arrivals of two lines of a stream.
Picoseconds stream_price(const Machine& machine, Access kind, const Caches::Fetched& fetched) {
  const Picoseconds overlapped = machine.overlapped(fetched.latency);
  if (fetched.source == Source::kSharedCache) return std::min(machine.l3_stream, overlapped);
  const auto& streams = kind == Access::kStore ? machine.stream_store : machine.stream;
  return std::min(streams[fetched.far], overlapped);
}

// Returns how long the miss delays the core, or the store buffer if the access is a store. `asked`
// is the time of the request; a store makes its request when the earlier stores are done. Advances
// `stream`, to which the miss belongs.
Picoseconds price_of_miss(const Machine& machine, Access kind, const Caches::Fetched& fetched,
                          Picoseconds asked, Core::Stream& stream) {
  const Picoseconds under_way = fetched.cost - std::min(fetched.cost, fetched.latency);
  if (is_prefetched(machine, stream, fetched)) {
    if (fetched.source == Source::kMemory) ++fetched_ahead;
    // The prefetcher fetches one line after the other, up to `lines_ahead` before the core asks. So
    // a core that asks slowly finds its lines fetched. A core that copies much waits for each line.
    const Picoseconds price = stream_price(machine, kind, fetched);
    const auto lead =
        static_cast<Picoseconds>(machine.profile.lines_ahead * static_cast<double>(price));
    const Picoseconds earliest = asked - std::min(asked, lead);
    stream.ready = std::max(std::max(stream.ready, earliest) + price, earliest + under_way);
    return stream.ready - std::min(stream.ready, asked);
  }
  const bool alone = kind != Access::kStore && stream.lines == 0;
  const Picoseconds wait = alone || kind == Access::kAtomic
                               ? fetched.cost
                               : under_way + machine.overlapped(fetched.latency);
  stream.ready = asked + wait;
  return wait;
}

void charge_miss(const void* site, Cpu& cpu, uint32_t line, Access kind) {
  const bool write = kind == Access::kStore || kind == Access::kAtomic;
  const Request request = reach_owner(cpu, line, kind);
  Caches::Fetched fetched = scheduler().caches().fetch(*cpu.core, line, write, request.heard);
  fetched.cost += request.heard.at - request.asked;

  Core::Stream none;
  Core::Stream& stream = kind == Access::kAtomic ? none : Caches::stream_of(*cpu.core, line);
  const Picoseconds asked =
      kind == Access::kStore ? std::max(request.asked, cpu.stores_done_at) : request.asked;
  const Picoseconds wait = price_of_miss(machine(), kind, fetched, asked, stream);
  switch (kind) {
    case Access::kPrefetch:
      cpu.prefetch(line, request.asked + wait);
      break;
    case Access::kAtomic:
    case Access::kLoad:
      cpu.now = std::max(cpu.now, request.asked + wait);
      break;
    case Access::kStore:
      retire_store(cpu, asked + wait);
      break;
  }
  scheduler().note_stall(cpu, cpu.now - request.asked);
  note_transfer(site, line, cpu.core->number, cpu.now - request.asked, fetched.cost);
}

void charge_second_cache(Cpu& cpu, Access kind, Picoseconds latency) {
  // Other work hides a part of a load's wait, and other stores hide a part of a store's wait. The
  // wait of an atomic operation counts in full.
  const Picoseconds wait = kind == Access::kAtomic ? latency : machine().overlapped(latency);
  if (kind == Access::kPrefetch) return;
  if (kind != Access::kStore) {
    cpu.now += wait;
    return;
  }
  retire_store(cpu, std::max(cpu.stores_done_at, cpu.now) + wait);
}

// Makes the core wait for a line that its L1 lacks, unless the core can continue without the line.
void wait_for(const void* site, Cpu& cpu, uint32_t line, Access kind) {
  Caches& caches = scheduler().caches();
  Core& core = *cpu.core;
  const bool write = kind == Access::kStore || kind == Access::kAtomic;
  Picoseconds latency = 0;
  bool near = caches.in_private_cache(core, line, write, &latency);
  if (!near) {
    caches.expect(core, line);
    scheduler().visible();
    caches.expect_fetch(core, line);
    // Another fiber of the core may have fetched the line meanwhile.
    near = core.l1.touch(line, write) || caches.in_private_cache(core, line, write, &latency);
  }
  near ? charge_second_cache(cpu, kind, latency) : charge_miss(site, cpu, line, kind);
}

// Charges the core for an atomic operation in the shared cache. Before the operation begins, lets
// contexts with earlier clocks run.
void charge_far_atomic(const void* site, Cpu& cpu, uint32_t line) {
  if (cpu.prefetches_end > cpu.now) cpu.await_prefetch(line);
  const Picoseconds asked = cpu.now;
  const auto [begins, latency] = scheduler().caches().far_atomic(*cpu.core, line, asked);
  cpu.now = begins;
  if (cpu.now > horizon) scheduler().visible();
  cpu.now += latency;
  scheduler().note_stall(cpu, cpu.now - asked);
  note_transfer(site, line, cpu.core->number, cpu.now - asked, latency);
}

void drain_stores(Cpu& cpu) { cpu.now = std::max(cpu.now, cpu.stores_done_at); }

// Charges an access that the L1 did not answer.
[[gnu::noinline]] void access_line(const void* site, uint32_t line, Access kind) {
  const Uncharged free;
  Cpu& cpu = free.cpu();
  const uint32_t named = line;
  line = resolve_alias(line);
  const bool write = kind == Access::kStore || kind == Access::kAtomic;
  if (line != named && cpu.core->l1.touch(line, write)) {
    if (cpu.prefetches_end > cpu.now) cpu.await_prefetch(line);
    return;
  }
  wait_for(site, cpu, line, kind);
}

// This function and access_line() are not inlined, so that a caller's fast path saves no registers.
[[gnu::noinline]] void await_prefetch(uint32_t line) { running->await_prefetch(line); }

void access_line_of(const Cpu& cpu, const void* site, uint32_t line, Access kind) {
  if (!cpu.core->l1.touch(line, kind == Access::kStore)) return access_line(site, line, kind);
  if (cpu.prefetches_end > cpu.now) await_prefetch(line);
}

[[gnu::noinline]] void access_lines(const void* site, uint32_t first, uint32_t last, Access kind) {
  for (uint32_t line = first; line <= last; ++line) {
    if (running != nullptr) access_line_of(*running, site, line, kind);
  }
}

}  // namespace

void warm_lines(const void* address, size_t bytes) {
  const uint32_t first = line_of(address);
  const uint32_t last = line_of(static_cast<const char*>(address) + bytes - 1);
  if (first == kNoLine || last == kNoLine) return;
  for (uint32_t line = first; line <= last; ++line) warmed->warm(line);
}

void charge_access(const void* site, const void* address, size_t bytes, Access kind) {
  const uint32_t line = line_of(address);
  if (line == kNoLine) return;
  ++accesses;
  if (is_in_one_line(address, bytes)) return access_line_of(*running, site, line, kind);
  const uint32_t last = line_of(static_cast<const char*>(address) + bytes - 1);
  access_lines(site, line, last == kNoLine ? line : last, kind);
}

void charge_atomic_load(const void* site, const void* address) {
  if (running->now > horizon) scheduler().visible();
  access(site, address, 1, Access::kLoad);
}

void before_atomic_store(const void* site, const void* address, size_t bytes,
                         bool sequentially_consistent) {
  if (running == nullptr) {
    if (exploring != nullptr) {
      exploring->atomic_store(site, const_cast<void*>(address), bytes, sequentially_consistent);
    } else if (warmed != nullptr) {
      warm(address, bytes);
    }
    return;
  }
  if (sequentially_consistent) return before_read_modify_write(site, address);
  if (running->now > horizon) scheduler().visible();
  access(site, address, 1, Access::kStore);
  // On x86 a store becomes visible only after all earlier stores of its core. So other cores get
  // the line only when these stores are done.
  const Cpu& cpu = *running;
  const uint32_t line = line_of(address);
  if (line == kNoLine || cpu.stores_done_at <= cpu.now) return;
  Line& state = scheduler().caches().line(resolve_alias(line));
  state.arrives = std::max(state.arrives, cpu.stores_done_at);
}

void before_read_modify_write(const void* site, const void* address) {
  if (running == nullptr) {
    if (exploring != nullptr) {
      exploring->read_modify_write(site, address);
    } else if (warmed != nullptr) {
      warm(address, 1);
    }
    return;
  }
  ++accesses;
  drain_stores(*running);
  if (running->now > horizon) scheduler().visible();
  const Uncharged free;
  Cpu& cpu = free.cpu();
  const uint32_t line = line_of(address);
  if (line != kNoLine) {
    const uint32_t resolved = resolve_alias(line);
    if (machine().far_atomic != 0) {
      charge_far_atomic(site, cpu, resolved);
    } else if (!cpu.core->l1.touch(resolved, true)) {
      wait_for(site, cpu, resolved, Access::kAtomic);
    } else if (cpu.prefetches_end > cpu.now) {
      cpu.await_prefetch(resolved);
    }
  }
  cpu.now += machine().rmw;
}

// Charges only time, because execution is sequentially consistent without fences.
void before_fence() {
  if (running == nullptr) {
    if (exploring != nullptr) exploring->fence();
    return;
  }
  drain_stores(*running);
  if (running->now > horizon) scheduler().visible();
  running->now += machine().fence;
}

}  // namespace logjam::sim
