#include <array>
#include <cstdlib>
#include <vector>

#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/cpu.h"
#include "sim/measure/costs.h"
#include "sim/measure/timing.h"

namespace logjam::platform {
namespace {

// Returns the time of one addition in a chain, which is a cycle. Both operands are registers,
// because cores that fold additions of constants would seem faster than their clock. The chain is
// unrolled, because a short loop may take longer than its additions.
double add_ns() {
  constexpr uint64_t kRounds = 5'000, kAddsInARound = 64;
  uint64_t sum = 1, addend = 3;
  const double ns = ns_of([&] {
    for (uint64_t i = 0; i < kRounds; ++i) {
      asm volatile(".rept 64\n\tadd %[addend], %[sum]\n\t.endr"
                   : [sum] "+r"(sum)
                   : [addend] "r"(addend)
                   : "cc");
    }
  });
  return ns / (kRounds * kAddsInARound);
}

// Hashes a key (xorshift), loads from the address that the hash gives, and stores next to it.
#define LOGJAM_HASH_LOAD_STORE              \
  "mov %[key], %[place]\n\t"                \
  "shl $13, %[place]\n\t"                   \
  "xor %[place], %[key]\n\t"                \
  "mov %[key], %[place]\n\t"                \
  "shr $7, %[place]\n\t"                    \
  "xor %[place], %[key]\n\t"                \
  "mov %[key], %[place]\n\t"                \
  "shl $17, %[place]\n\t"                   \
  "xor %[place], %[key]\n\t"                \
  "mov %[key], %[place]\n\t"                \
  "and $1022, %[place]\n\t"                 \
  "mov (%[table],%[place],8), %[found]\n\t" \
  "mov %[rounds], 8(%[table],%[place],8)\n\t"

constexpr uint64_t kInstructionsInARound = 2 + 13 + 2 + 1 + 13 + 4 + 3;
// Runs a loop that resembles the engine's code: all loads hit the L1, and one branch in 16 is
// unpredictable. The first half of a round depends on no other round, the second half on the load
// of the previous round, as in an index search. Returns the nanoseconds per instruction.
double instruction_ns() {
  constexpr uint64_t kRounds = 10'000;
  alignas(kCacheLine) std::array<uint64_t, 1024> table;
  const uint64_t step = 0x9E3779B97F4A7C15;
  for (uint64_t i = 0; i < table.size(); ++i) table[i] = i * step;
  uint64_t counted = 1, searched = 0x2545F4914F6CDD1D, rounds = kRounds;
  uint64_t key = 0, place = 0, found = 0;
  const double ns = ns_of([&] {
    asm volatile(
        "1:\n\t"
        "add %[step], %[counted]\n\t"
        "mov %[counted], %[key]\n\t" LOGJAM_HASH_LOAD_STORE
        "test $15, %[found]\n\t"
        "je 2f\n\t"
        "2:\n\t"
        "mov %[searched], %[key]\n\t" LOGJAM_HASH_LOAD_STORE
        "xor %[found], %[key]\n\t"
        "mov %[key], %[searched]\n\t"
        "test $15, %[key]\n\t"
        "je 3f\n\t"
        "3:\n\t"
        "add $1, %[found]\n\t"
        "sub $1, %[rounds]\n\t"
        "jne 1b"
        : [counted] "+r"(counted), [searched] "+r"(searched), [rounds] "+r"(rounds),
          [key] "+r"(key), [place] "+r"(place), [found] "+r"(found)
        : [table] "r"(table.data()), [step] "r"(step)
        : "cc", "memory");
  });
  return ns / (kRounds * kInstructionsInARound);
}
#undef LOGJAM_HASH_LOAD_STORE

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
