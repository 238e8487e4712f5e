#include "sim/machine/charge.h"

#include <algorithm>

#include "sim/machine/lines_report.h"

namespace logjam::sim {

uint64_t accesses = 0;

namespace {

// A request that has reached the line's owner.
struct Request {
  Picoseconds asked;  // when the core has sent it
  Caches::Heard heard;
};

// Lets all earlier visible steps happen, up to the moment at which the line's owner receives the
// request: the owner uses the line until then. The request of a store or a prefetch is not
// followed, because the core does not wait for it, and its clock would have to go back.
//
// Another fiber of the context may run during that time. The request is then later by that fiber's
// time, so that the context's clock does not go back.
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

// Retires a store that completes at `done`. The core continues, or waits if its store buffer is
// full.
void retire_store(Cpu& cpu, Picoseconds done) {
  cpu.stores_done_at = done;
  cpu.now = std::max(cpu.now, done - std::min(done, machine().store_lead));
}

// The price of a miss: for how long a core works less because a line is not in its own caches.
//
// A load that follows no other miss takes the whole latency: the line is mostly found through a
// pointer, and the next steps depend on it. Stores overlap, also a lone store, because the core
// asks for its line before its turn comes (docs/VALIDATION.md). Misses of lines in a row overlap
// (`overlap` of the profile). From the third line of a row on, the hardware fetches lines from
// memory and from the shared cache ahead of the core. It fetches no line ahead that another core
// owns, or that only another socket has: such lines overlap, and nothing more.
//
// A core never has a line before it arrives. So waits for a line that is still under way, and for
// memory that is busy with other lines, count in full, or move the prefetcher back.

bool is_prefetched(const Machine& machine, const Core::Stream& stream,
                   const Caches::Fetched& fetched) {
  return stream.lines >= machine.profile.lines_noticed &&
         (fetched.source == Source::kMemory || fetched.source == Source::kSharedCache);
}

// Returns the time between two lines of a stream.
Picoseconds stream_price(const Machine& machine, Access kind, const Caches::Fetched& fetched) {
  const Picoseconds overlapped = machine.overlapped(fetched.latency);
  if (fetched.source == Source::kSharedCache) return std::min(machine.l3_stream, overlapped);
  const auto& streams = kind == Access::kStore ? machine.stream_store : machine.stream;
  return std::min(streams[fetched.far], overlapped);
}

// Returns how much longer the core's own work takes, or its store buffer's, for a line that
// `fetched` describes. The core asks at `asked`; a store asks when the stores before it are done.
// `stream` is the row of lines to which the miss belongs (Caches::stream_of); the function moves it
// on.
Picoseconds price_of_miss(const Machine& machine, Access kind, const Caches::Fetched& fetched,
                          Picoseconds asked, Core::Stream& stream) {
  const Picoseconds under_way = fetched.cost - std::min(fetched.cost, fetched.latency);
  if (is_prefetched(machine, stream, fetched)) {
    // The hardware fetches one line of the stream after the other, up to `lines_ahead` before the
    // core asks. So a core that asks rarely finds its lines already fetched, and one that copies
    // much waits for each.
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

// Charges the core for a line that its own caches do not have.
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

// Charges the core for a line that its second cache has.
void charge_second_cache(Cpu& cpu, Access kind, Picoseconds latency) {
  // The core's other work hides a part of a short wait, and of stores that wait side by side.
  const Picoseconds wait = kind == Access::kAtomic ? latency : machine().overlapped(latency);
  if (kind == Access::kPrefetch) return;
  if (kind != Access::kStore) {
    cpu.now += wait;
    return;
  }
  retire_store(cpu, std::max(cpu.stores_done_at, cpu.now) + wait);
}

// Makes the core wait for a line, unless it can continue without it.
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
    // Another fiber of the core may have fetched the line since.
    near = core.l1.touch(line, write) || caches.in_private_cache(core, line, write, &latency);
  }
  near ? charge_second_cache(cpu, kind, latency) : charge_miss(site, cpu, line, kind);
}

// Charges the core for an atomic operation that the shared cache does. Other contexts go first
// until the operation begins.
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

// Charges an access that the first cache did not answer. May switch fibers.
[[gnu::noinline]] void access_line(const void* site, uint32_t line, Access kind) {
  const UnchargedHere free;
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

// Not inlined, as access_line(): the usual way through charge_access() saves no registers.
[[gnu::noinline]] void await_prefetch(uint32_t line) { running->await_prefetch(line); }

void access_line_of(const Cpu& cpu, const void* site, uint32_t line, Access kind) {
  if (!cpu.core->l1.touch(line, kind == Access::kStore)) return access_line(site, line, kind);
  if (cpu.prefetches_end > cpu.now) await_prefetch(line);
}

// Charges an access to the lines `first` to `last`. May switch fibers.
[[gnu::noinline]] void access_lines(const void* site, uint32_t first, uint32_t last, Access kind) {
  for (uint32_t line = first; line <= last; ++line) {
    if (running != nullptr) access_line_of(*running, site, line, kind);
  }
}

}  // namespace

void warm(const void* address, size_t bytes) {
  const uint32_t first = line_of(address);
  const uint32_t last = line_of(static_cast<const char*>(address) + bytes - 1);
  if (first == kNoLine || last == kNoLine) return;
  for (uint32_t line = first; line <= last; ++line) warmed->warm(resolve_alias(line));
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
  // x86's stores become visible in their order: this one not before the stores before it are done.
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
  // The operation is ordered after the stores before it, so these drain first.
  drain_stores(*running);
  if (running->now > horizon) scheduler().visible();
  const UnchargedHere free;
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

// Charges a fence. It only costs time: execution is sequentially consistent without it
// (scheduler.h).
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
