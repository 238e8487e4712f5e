#include "platform/persist.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#else
#include <cpuid.h>
#include <immintrin.h>
#endif

#include <span>

#include "platform/cache_lines.h"
#include "platform/clock.h"
#include "platform/spin.h"

namespace logjam::platform {
namespace {

using Lines = std::span<const CacheLine>;

struct Choice {
  void (*lines)(Lines);
  const char* name;
};

#if defined(__aarch64__)
// Writes back to the point of persistence (Armv8.2). Without -march the assembler has no `dc cvap`.
void cvap_lines(Lines lines) {
  for (const CacheLine& line : lines)
    asm volatile("sys #3, c7, c12, #1, %0" ::"r"(&line) : "memory");
}

// Writes back to the point of coherence.
void cvac_lines(Lines lines) {
  for (const CacheLine& line : lines) asm volatile("dc cvac, %0" ::"r"(&line) : "memory");
}

Choice best_choice() {
  if ((getauxval(AT_HWCAP) & HWCAP_DCPOP) != 0) return {cvap_lines, "dc cvap"};
  return {cvac_lines, "dc cvac"};
}

// Waits until the lines are written back. dmb would only order them.
void fence() { asm volatile("dsb sy" ::: "memory"); }
#else
__attribute__((target("clwb"))) void clwb_lines(Lines lines) {
  for (const CacheLine& line : lines) _mm_clwb(const_cast<CacheLine*>(&line));
}

__attribute__((target("clflushopt"))) void clflushopt_lines(Lines lines) {
  for (const CacheLine& line : lines) _mm_clflushopt(const_cast<CacheLine*>(&line));
}

void clflush_lines(Lines lines) {
  for (const CacheLine& line : lines) _mm_clflush(&line);
}

// Asks CPUID: clang's __builtin_cpu_supports does not know these two features.
Choice best_choice() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned kFeatures = 7;
  __get_cpuid_count(kFeatures, 0, &eax, &ebx, &ecx, &edx);  // without this leaf, all four stay 0
  if ((ebx & bit_CLWB) != 0) return {clwb_lines, "clwb"};
  if ((ebx & bit_CLFLUSHOPT) != 0) return {clflushopt_lines, "clflushopt"};
  return {clflush_lines, "clflush"};
}

void fence() { _mm_sfence(); }
#endif

const Choice& choice() {
  static const Choice chosen = best_choice();
  return chosen;
}

}  // namespace

void write_back(const void* address, size_t bytes) {
  choice().lines(cache_lines_of(address, bytes));
  fence();
}

const char* write_back_instruction() { return choice().name; }

void spin_ticks(uint64_t wanted) {
  if (wanted == 0) return;
  const uint64_t start = ticks();
  while (ticks() - start < wanted) pause();
}

}  // namespace logjam::platform
