#include <array>
#include <cstdlib>
#include <vector>

#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/cpu.h"
#include "platform/measured_loops.h"
#include "platform/random.h"
#include "sim/measure/costs.h"
#include "sim/measure/timing.h"

namespace logjam::platform {
namespace {

// Returns the time of one addition in a chain, which is a cycle.
double add_ns() {
  constexpr uint64_t kRounds = 5'000;
  return ns_of([] { add_in_a_chain(kRounds); }) / (kRounds * kAddsInARound);
}

// Returns the nanoseconds per instruction of a loop that resembles the engine's code.
double instruction_ns() {
  constexpr uint64_t kRounds = 10'000;
  alignas(kShortestLine) HashTable table;
  for (uint64_t i = 0; i < table.size(); ++i) table[i] = i * kGoldenRatio;
  return ns_of([&] { hash_load_and_store(table, kRounds); }) / (kRounds * kInstructionsInARound);
}

template <class Operation>
double operation_ns(Operation&& operation) {
  constexpr uint32_t kOperations = 5'000;
  return ns_of([&] {
           for (uint32_t i = 0; i < kOperations; ++i) operation();
         }) /
         kOperations;
}

double increment_ns() {
  Padded<volatile uint64_t> word;
  return operation_ns([&] { *word = *word + 1; });
}
double fetch_add_ns() {
  Padded<atomic<uint64_t>> word;
  uint64_t sum = 0;
  const double ns = operation_ns([&] { sum += word->fetch_add(1); });
  opaque(sum);
  return ns;
}

double clock_read_ns(uint64_t (*read)()) {
  uint64_t sum = 0;
  const double ns = operation_ns([&] { sum += read(); });
  opaque(sum);
  return ns;
}

// Allocates and frees 64 pieces of 32 to 144 bytes at a time, as a transaction does.
double malloc_or_free_ns() {
  constexpr uint32_t kRounds = 50;
  std::array<void*, 64> pieces;
  const double ns = ns_of([&] {
    for (uint32_t round = 0; round < kRounds; ++round) {
      for (size_t i = 0; i < pieces.size(); ++i) {
        pieces[i] = std::malloc(32 + 16 * (i % 8));
        opaque(pieces[i]);
      }
      for (void* piece : pieces) std::free(piece);
    }
  });
  return ns / (2.0 * kRounds * pieces.size());
}

}  // namespace

CoreCosts core_costs(int core, uint32_t repetitions) {
  CoreCosts costs{};
  run_on(core, [&] {
    const auto median = [&](double (*measure)()) { return median_of(10 * repetitions, measure); };
    // The minimum is better than the median here, because a disturbance only slows the chain down.
    double fastest = add_ns();
    for (uint32_t i = 1; i < 10 * repetitions; ++i) fastest = std::min(fastest, add_ns());
    costs.ghz = 1 / fastest;
    costs.instructions_per_cycle = 1 / (median(instruction_ns) * costs.ghz);
    costs.rmw_ns = std::max(0.0, median(fetch_add_ns) - median(increment_ns));
    costs.fence_ns = median([] { return operation_ns([] { full_fence(); }); });
    costs.pause_ns = median([] { return operation_ns([] { pause(); }); });
    costs.ticks_ns = median([] { return clock_read_ns(ticks); });
    costs.clock_ns = median([] { return clock_read_ns(now_ns); });
    costs.allocation_ns = median(malloc_or_free_ns);
  });
  return costs;
}

double slowdown_beside(int core, int other, uint32_t repetitions) {
  const auto instruction_on = [&](int number) {
    double ns = 0;
    run_on(number, [&] { ns = median_of(repetitions, instruction_ns); });
    return ns;
  };
  const double alone = instruction_on(core);
  atomic<bool> stop{false};
  thread beside([&] {
    pin_to_core(other);
    while (!stop.load(memory_order_relaxed)) instruction_ns();
  });
  const double together = instruction_on(core);
  stop.store(true, memory_order_relaxed);
  beside.join();
  return together / alone;
}

}  // namespace logjam::platform
