#include <memory>

#include "platform/persist.h"
#include "platform/spin.h"
#include "sim/measure/chase.h"
#include "sim/measure/costs.h"

namespace logjam::platform {
namespace {

constexpr size_t kEvictedBytes = 8 << 20;  // evicted before use, so the size need not exceed the L3

constexpr size_t kWrittenBack = 64;  // lines in a call of write_back()

// Returns the time of a load from a cache. The ring must be larger than the next smaller cache.
// Then all loads miss the smaller cache: a line is used again only after all other lines.
double cached_ns(size_t bytes, uint32_t repetitions) {
  const Ring ring = dense_ring(bytes);
  ring.chase_ns();
  return median_of(repetitions, [&] { return ring.chase_ns(); });
}

double in_order_ns(const Ring& ring) { return ring.in_order_ns(ring.size()); }

double written_in_order_ns(const Ring& ring) {
  size_t place = 0;
  return ns_of_a_step(ring.size(), [&](size_t lines) {
    for (const size_t end = place + lines; place < end; ++place) {
      ring.line(place).word.store(place, memory_order_relaxed);
    }
  });
}

// Returns the time of a line that is read in order. Reads all lines of the ring once before the
// measurement, so that they are in the cache if they fit into it.
double cached_in_order_ns(size_t bytes, uint32_t repetitions) {
  const Ring ring = dense_ring(bytes);
  in_order_ns(ring);
  return median_of(repetitions, [&] { return in_order_ns(ring); });
}

// Returns how many MiB of a cache this machine may use. Doubles `bytes` while a read in order takes
// less than `limit_ns` per line. Returns the kernel's number if no size up to 256 MiB reaches the
// limit. Reads in order, because a pointer chase would take too long: if other virtual machines
// also use the cache, a line leaves it after some 18 ms without use.
uint64_t usable_mib(size_t bytes, size_t told_bytes, double limit_ns) {
  constexpr size_t kMostBytes = 256 << 20;
  constexpr uint32_t kRepetitions = 5;
  while (2 * bytes <= std::min(told_bytes, kMostBytes) &&
         cached_in_order_ns(2 * bytes, kRepetitions) < limit_ns) {
    bytes *= 2;
  }
  const bool ended = 2 * bytes <= std::min(told_bytes, kMostBytes);
  return std::max<uint64_t>(1, (ended ? bytes : told_bytes) >> 20);
}

}  // namespace

std::vector<int> cores_of_the_socket() {
  std::vector<int> cores;
  for (int i = 0; i < core_count(); ++i) {
    if (socket_of_core(i) == socket_of_core(0)) cores.push_back(i);
  }
  return cores;
}

namespace {

double bandwidth_gb_s(const std::vector<int>& cores, uint32_t repetitions) {
  return kShortestLine * lines_per_ns(cores, kEvictedBytes, repetitions, in_order_ns);
}

// Returns the nanoseconds per line of a write_back() of `together` lines, all of them dirty.
double write_back_ns(size_t together) {
  const Ring ring = dense_ring(256 << 10);
  for (size_t i = 0; i < ring.size(); ++i) ring.line(i).word.store(i, memory_order_relaxed);
  size_t place = 0;
  return ns_of_a_step(ring.size(), [&](size_t lines) {
    for (const size_t end = place + lines; place < end; place += together) {
      write_back(&ring.line(place), together * sizeof(RingLine));
    }
  });
}

}  // namespace

double memory_ns(int core, int home, uint32_t repetitions) {
  std::unique_ptr<Ring> ring;
  run_on(home, [&] { ring = std::make_unique<Ring>(kTableBytes / kShortestLine, kShortestLine); });
  double ns = 0;
  run_on(core, [&] {
    ns = median_of(repetitions, [&] {
      ring->evict();
      return ring->chase_ns();
    });
  });
  return ns;
}

MemoryCosts memory_costs(const MachineShape& shape, uint32_t repetitions) {
  MemoryCosts costs{};
  costs.memory_ns = memory_ns(0, 0, repetitions);
  run_on(0, [&] {
    const size_t l1 = shape.l1.kib << 10, l2 = shape.l2.kib << 10, l3 = shape.l3.kib << 10;
    if (l2 != 0) costs.l2_ns = cached_ns(std::max(l2 / 2, 2 * l1), repetitions);
    const size_t twice_inner = 2 * std::max(l1, l2);
    if (l3 != 0) {
      costs.l3_ns = cached_ns(std::min(twice_inner, l3 / 2), repetitions);
      costs.l3_stream_ns = cached_in_order_ns(std::min(twice_inner, l3 / 2), repetitions);
    }
    const Ring ring = dense_ring(kEvictedBytes);
    const auto of_memory = [&](double (*measure)(const Ring&)) {
      return median_of(repetitions, [&] {
        ring.evict();
        return measure(ring);
      });
    };
    costs.overlap = of_memory([](const Ring& evicted) {
      const double four_ns = evicted.chains_ns(4, evicted.size());
      evicted.evict();
      return std::clamp(evicted.chase_ns() / four_ns, 1.0, 4.0);
    });
    costs.stream_ns = of_memory(in_order_ns);
    if (l3 != 0) {
      costs.l3_mib = usable_mib(twice_inner, l3, (costs.l3_stream_ns + costs.stream_ns) / 2);
    }
    const Ring table = dense_ring(kTableBytes);
    costs.stream_store_ns = median_of(repetitions, [&] { return written_in_order_ns(table); });
    costs.write_back_ns = median_of(repetitions, [] { return write_back_ns(1); });
    const double many_ns =
        kWrittenBack * median_of(repetitions, [] { return write_back_ns(kWrittenBack); });
    costs.write_back_line_ns = std::max(0.0, many_ns - costs.write_back_ns) / (kWrittenBack - 1);
  });
  const std::vector<int> cores = cores_of_the_socket();
  costs.readers = static_cast<uint32_t>(cores.size());
  costs.gb_s = bandwidth_gb_s(cores, repetitions);
  return costs;
}

}  // namespace logjam::platform
