// A ring of cache lines in random order, for one thread at a time. Each line has the address of the
// next line, so each load waits for the load before it, and no prefetcher can guess the order.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/measured_loops.h"
#include "platform/memory.h"
#include "platform/thread.h"
#include "sim/measure/timing.h"

namespace logjam::platform {

struct alignas(kShortestLine) RingLine {
  RingLine* next;
  atomic<uint64_t> word;  // a thread that makes the line dirty stores here
};

class Ring {
 public:
  // Makes a ring of `lines` lines, one in each `stride` bytes, and touches the memory first.
  Ring(size_t lines, size_t stride) : bytes_(lines * stride), lines_(lines), stride_(stride) {
    LJ_ASSERT(lines >= kStarts && stride >= kShortestLine && stride % kShortestLine == 0);
    memory_ = static_cast<std::byte*>(map_huge(bytes_));
    std::vector<uint32_t> order(lines);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937(1));
    for (size_t i = 0; i < lines; ++i) line(order[i]).next = &line(order[(i + 1) % lines]);
    for (size_t i = 0; i < kStarts; ++i) starts_[i] = &line(order[i * lines / kStarts]);
  }
  ~Ring() { unmap_huge(memory_, bytes_); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  static constexpr size_t kStarts = 16;

  size_t size() const { return lines_; }
  // Returns lines that divide the ring into equal parts.
  const std::array<const RingLine*, kStarts>& starts() const { return starts_; }
  RingLine& line(size_t place) const {
    return *reinterpret_cast<RingLine*>(memory_ + place * stride_);
  }

  void evict() const {
    for (size_t i = 0; i < lines_; ++i) evict_line(&line(i));
    full_fence();
  }

  // Follows the whole ring once. Returns the nanoseconds per line of the ring.
  double chase_ns() const {
    const RingLine* at = starts_[0];
    return ns_of_a_step(lines_, [&at](size_t lines) {
      for (size_t i = 0; i < lines; ++i) at = at->next;
      opaque(at);
    });
  }

  // Reads the first `lines` lines in the order of their addresses. Returns the nanoseconds per
  // line.
  double in_order_ns(size_t lines) const {
    size_t place = 0;
    return ns_of_a_step(lines, [&](size_t count) {
      uint64_t sum = 0;
      for (const size_t end = place + count; place < end; ++place) {
        sum += line(place).word.load(memory_order_relaxed);
      }
      opaque(sum);
    });
  }

  // Chains that each follow a part of the ring, all at once. `count` divides kStarts. The parts are
  // equal if `count` divides the size, too.
  class Chains {
   public:
    Chains(const Ring& ring, size_t count) : count_(count) {
      LJ_ASSERT(count > 0 && kStarts % count == 0);
      for (size_t i = 0; i < count; ++i) at_[i] = ring.starts()[i * kStarts / count];
    }
    // Moves each chain by `steps` lines. The chains depend on no other chain, so `count` loads are
    // on their way at a time.
    void follow(size_t steps) {
      for (size_t i = 0; i < steps; ++i) {
        for (size_t chain = 0; chain < count_; ++chain) at_[chain] = at_[chain]->next;
      }
      for (size_t chain = 0; chain < count_; ++chain) opaque(at_[chain]);
    }
    const RingLine* at(size_t chain) const { return at_[chain]; }

   private:
    const size_t count_;
    std::array<const RingLine*, kStarts> at_{};
  };

  // Follows the first `lines` lines of all chains together. Returns the nanoseconds per line.
  double chains_ns(size_t chains, size_t lines) const {
    Chains all(*this, chains);
    const double ns = ns_of_a_step(lines / chains, [&all](size_t steps) { all.follow(steps); });
    return ns / static_cast<double>(chains);
  }

 private:
  size_t bytes_, lines_, stride_;
  std::byte* memory_;
  std::array<const RingLine*, kStarts> starts_;
};

// As large as a database table: in less memory the processor finds more address translations in its
// caches. On a virtual machine with huge pages, a line took 120 to 135 ns in 8 MiB, and 172 ns in
// 256 MiB.
inline constexpr size_t kTableBytes = 256 << 20;

inline Ring dense_ring(size_t bytes) { return Ring(bytes / kShortestLine, kShortestLine); }

// Measures with a thread on each of these cores, in a ring of its own of `bytes` bytes, which is in
// no cache when a measurement starts. All threads start at the same time. ns_of_a_line(ring)
// returns the nanoseconds per line. Returns the lines that all threads together make in a
// nanosecond.
template <class Measure>
double lines_per_ns(const std::vector<int>& cores, size_t bytes, uint32_t repetitions,
                    Measure ns_of_a_line) {
  atomic<uint64_t> ready{0};
  std::vector<std::vector<double>> rates(cores.size());
  std::vector<thread> threads;
  for (size_t i = 0; i < cores.size(); ++i) {
    threads.emplace_back([&, i] {
      pin_to_core(cores[i]);
      const Ring ring = dense_ring(bytes);
      for (uint32_t repetition = 1; repetition <= repetitions; ++repetition) {
        ring.evict();
        ready.fetch_add(1);
        while (ready.load() < repetition * cores.size()) yield();
        rates[i].push_back(1 / ns_of_a_line(ring));
      }
    });
  }
  double sum = 0;
  for (size_t i = 0; i < cores.size(); ++i) {
    threads[i].join();
    sum += median_of(rates[i]);
  }
  return sum;
}

}  // namespace logjam::platform
