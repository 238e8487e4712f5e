#include "platform/persist.h"

#include <cpuid.h>
#include <immintrin.h>

#include <span>

#include "platform/cache_lines.h"
#include "platform/clock.h"
#include "platform/spin.h"

namespace logjam::platform {
namespace {

using Lines = std::span<const CacheLine>;

__attribute__((target("clwb"))) void clwb_lines(Lines lines) {
  for (const CacheLine& line : lines) _mm_clwb(const_cast<CacheLine*>(&line));
}

__attribute__((target("clflushopt"))) void clflushopt_lines(Lines lines) {
  for (const CacheLine& line : lines) _mm_clflushopt(const_cast<CacheLine*>(&line));
}

void clflush_lines(Lines lines) {
  for (const CacheLine& line : lines) _mm_clflush(&line);
}

struct Choice {
  void (*lines)(Lines);
  const char* name;
};

// Asks CPUID: clang's __builtin_cpu_supports does not know these two features.
Choice best_choice() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned kFeatures = 7;
  __get_cpuid_count(kFeatures, 0, &eax, &ebx, &ecx, &edx);  // without this leaf, all four stay 0
  if ((ebx & bit_CLWB) != 0) return {clwb_lines, "clwb"};
  if ((ebx & bit_CLFLUSHOPT) != 0) return {clflushopt_lines, "clflushopt"};
  return {clflush_lines, "clflush"};
}

const Choice& choice() {
  static const Choice chosen = best_choice();
  return chosen;
}

}  // namespace

void write_back(const void* address, size_t bytes) {
  choice().lines(cache_lines_of(address, bytes));
  _mm_sfence();
}

const char* write_back_instruction() { return choice().name; }

void spin_ticks(uint64_t wanted) {
  if (wanted == 0) return;
  const uint64_t start = ticks();
  while (ticks() - start < wanted) pause();
}

}  // namespace logjam::platform
