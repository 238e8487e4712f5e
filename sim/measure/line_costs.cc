// Protocol. Two threads take turns with a Step. One thread works on the lines and raises the step
// (release). The other thread waits for the step (acquire), so that it sees the lines as the first
// thread left them. In the last two measurements both threads use `turn` or `word` at once on
// purpose. `stop` and `theirs` order nothing: both threads' results are read after join().
#include "platform/spin.h"
#include "sim/measure/chase.h"
#include "sim/measure/costs.h"

namespace logjam::platform {
namespace {

class Step {
 public:
  void wait_for(uint32_t number) const {
    for (SpinWait wait; done_->load(memory_order_acquire) < number;) wait.once();
  }
  void done(uint32_t number) { done_->store(number, memory_order_release); }

 private:
  Padded<atomic<uint32_t>> done_;
};

// All the lines fit into any L2. Each line has 256 bytes to itself, because some prefetchers fetch
// pairs of lines.
constexpr size_t kLines = 512, kStride = 256;

void read_lines(const Ring& ring) {
  uint64_t sum = 0;
  for (size_t i = 0; i < ring.size(); ++i) sum += ring.line(i).word.load(memory_order_relaxed);
  opaque(sum);
}

void write_lines(const Ring& ring) {
  for (size_t i = 0; i < ring.size(); ++i) ring.line(i).word.store(i, memory_order_relaxed);
}

// Returns the time of a fetch-add of a line. Each fetch-add waits for the previous one, because its
// address depends on the previous result. The fence keeps earlier work out of the time.
double fetch_add_ns(const Ring& ring) {
  auto at = reinterpret_cast<uintptr_t>(ring.starts()[0]);
  uintptr_t nothing = 0;
  opaque(nothing);
  full_fence();
  const double ns = ns_of([&] {
    for (size_t i = 0; i < ring.size(); ++i) {
      auto* line = reinterpret_cast<RingLine*>(at);
      const uint64_t added_to = line->word.fetch_add(1);
      at = reinterpret_cast<uintptr_t>(line->next) + (added_to & nothing);
    }
    opaque(at);
  });
  return ns / static_cast<double>(ring.size());
}

// Returns the median of the measurements. Before each measurement by core `core`, core `other`
// prepares the lines.
template <class Prepare, class Measure>
double prepared_ns(int core, int other, uint32_t repetitions, Prepare&& prepare,
                   Measure&& measure) {
  const Ring ring(kLines, kStride);
  Step step;
  thread preparing([&] {
    pin_to_core(other);
    for (uint32_t i = 0; i < repetitions; ++i) {
      step.wait_for(2 * i);
      ring.evict();
      prepare(ring);
      step.done(2 * i + 1);
    }
  });
  double ns = 0;
  run_on(core, [&] {
    uint32_t i = 0;
    ns = median_of(repetitions, [&] {
      step.wait_for(2 * i + 1);
      const double measured = measure(ring);
      step.done(2 * ++i);
      return measured;
    });
  });
  preparing.join();
  return ns;
}

// Ignores measurements during which the other thread did not run. Returns 0 if no measurement is
// left: on a busy machine the two threads may never run together.
double contended_fetch_add_ns(int core, int other, uint32_t repetitions) {
  constexpr uint64_t kAdds = 5'000;
  Padded<atomic<uint64_t>> word;
  Padded<atomic<uint64_t>> theirs;
  atomic<bool> stop{false};
  thread adding([&] {
    pin_to_core(other);
    for (uint64_t added = 0; !stop.load(memory_order_relaxed);) {
      for (int i = 0; i < 16; ++i) word->fetch_add(1);
      theirs->store(added += 16, memory_order_relaxed);
    }
  });
  std::vector<double> each;
  run_on(core, [&] {
    while (theirs->load(memory_order_relaxed) == 0) yield();
    const uint32_t tries = 50 * repetitions;
    for (uint32_t i = 0; i < tries && each.size() < repetitions; ++i) {
      const uint64_t before = theirs->load(memory_order_relaxed);
      const double ns = ns_of([&] {
        for (uint64_t i = 0; i < kAdds; ++i) word->fetch_add(1);
      });
      const uint64_t added = theirs->load(memory_order_relaxed) - before;
      if (added > kAdds / 4) each.push_back(ns / static_cast<double>(kAdds + added));
    }
  });
  stop.store(true, memory_order_relaxed);
  adding.join();
  return median_of(std::move(each));
}

}  // namespace

double hand_off_ns(int core, int other, uint32_t repetitions) {
  constexpr uint32_t kRounds = 1'000;
  Padded<atomic<uint32_t>> turn;
  // Both threads spin without a pause. A thread whose partner has lost its core yields.
  const auto take = [&turn](uint32_t mine) {
    for (uint32_t tries = 1;; ++tries) {
      uint32_t expected = mine;
      if (turn->compare_exchange_strong(expected, 1 - mine)) return;
      if (tries % 10'000 == 0) yield();
    }
  };
  thread partner([&] {
    pin_to_core(other);
    for (uint32_t i = 0; i < repetitions * kRounds; ++i) take(1);
  });
  double ns = 0;
  run_on(core, [&] {
    ns = median_of(repetitions, [&] {
      return ns_of([&] {
               for (uint32_t i = 0; i < kRounds; ++i) take(0);
             }) /
             (2.0 * kRounds);
    });
  });
  partner.join();
  return ns;
}

LineCosts line_costs(int core, int other, uint32_t repetitions) {
  const auto chase = [](const Ring& ring) { return ring.chase_ns(); };
  LineCosts costs{};
  costs.clean_ns = prepared_ns(core, other, repetitions, read_lines, chase);
  costs.dirty_ns = prepared_ns(core, other, repetitions, write_lines, chase);
  const double own = prepared_ns(
      core, other, repetitions, [](const Ring&) {},
      [](const Ring& ring) {
        write_lines(ring);
        read_lines(ring);
        return fetch_add_ns(ring);
      });
  const double shared = prepared_ns(core, other, repetitions, read_lines, [](const Ring& ring) {
    read_lines(ring);
    return fetch_add_ns(ring);
  });
  costs.upgrade_ns = std::max(0.0, shared - own);
  costs.hand_off_ns = hand_off_ns(core, other, repetitions);
  costs.contended_fetch_add_ns = contended_fetch_add_ns(core, other, repetitions);
  return costs;
}

}  // namespace logjam::platform
