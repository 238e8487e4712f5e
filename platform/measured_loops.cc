#include "platform/measured_loops.h"

namespace logjam::platform {

void add_in_a_chain(uint64_t rounds) {
  uint64_t sum = 1, addend = 3;
  for (; rounds > 0; --rounds) {
#if defined(__aarch64__)
    asm volatile(".rept 64\n\tadd %[sum], %[sum], %[addend]\n\t.endr"
#else
    asm volatile(".rept 64\n\tadd %[addend], %[sum]\n\t.endr"
#endif
                 : [sum] "+r"(sum)
                 : [addend] "r"(addend)
                 : "cc");
  }
}

#if defined(__aarch64__)
#define LOGJAM_HASH_LOAD_STORE                     \
  "eor %[key], %[key], %[key], lsl #13\n\t"        \
  "eor %[key], %[key], %[key], lsr #7\n\t"         \
  "eor %[key], %[key], %[key], lsl #17\n\t"        \
  "and %[place], %[key], #1022\n\t"                \
  "ldr %[found], [%[table], %[place], lsl #3]\n\t" \
  "add %[place], %[table], %[place], lsl #3\n\t"   \
  "str %[rounds], [%[place], #8]\n\t"
#else
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
#endif

void hash_load_and_store(HashTable& table, uint64_t rounds) {
  const uint64_t step = 0x9E3779B97F4A7C15;
  uint64_t counted = 1, searched = 0x2545F4914F6CDD1D;
  uint64_t key = 0, place = 0, found = 0;
  asm volatile(
#if defined(__aarch64__)
      "1:\n\t"
      "add %[counted], %[counted], %[step]\n\t"
      "mov %[key], %[counted]\n\t" LOGJAM_HASH_LOAD_STORE
      "tst %[found], #15\n\t"
      "b.eq 2f\n\t"
      "2:\n\t"
      "mov %[key], %[searched]\n\t" LOGJAM_HASH_LOAD_STORE
      "eor %[key], %[key], %[found]\n\t"
      "mov %[searched], %[key]\n\t"
      "tst %[key], #15\n\t"
      "b.eq 3f\n\t"
      "3:\n\t"
      "add %[found], %[found], #1\n\t"
      "subs %[rounds], %[rounds], #1\n\t"
      "b.ne 1b"
#else
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
#endif
      : [counted] "+r"(counted), [searched] "+r"(searched), [rounds] "+r"(rounds), [key] "+r"(key),
        [place] "+r"(place), [found] "+r"(found)
      : [table] "r"(table.data()), [step] "r"(step)
      : "cc", "memory");
}

void hash_loads_ahead(HashTable& table, uint64_t rounds) {
  const uint64_t step = 0x9E3779B97F4A7C15;
  uint64_t counted = 1, key = 0, place = 0, found = 0;
  asm volatile(
#if defined(__aarch64__)
      "1:\n\t"
      "add %[counted], %[counted], %[step]\n\t"
      "mov %[key], %[counted]\n\t" LOGJAM_HASH_LOAD_STORE
      "tst %[found], #15\n\t"
      "b.eq 2f\n\t"
      "2:\n\t"
      "subs %[rounds], %[rounds], #1\n\t"
      "b.ne 1b"
#else
      "1:\n\t"
      "add %[step], %[counted]\n\t"
      "mov %[counted], %[key]\n\t" LOGJAM_HASH_LOAD_STORE
      "test $15, %[found]\n\t"
      "je 2f\n\t"
      "2:\n\t"
      "sub $1, %[rounds]\n\t"
      "jne 1b"
#endif
      : [counted] "+r"(counted), [rounds] "+r"(rounds), [key] "+r"(key), [place] "+r"(place),
        [found] "+r"(found)
      : [table] "r"(table.data()), [step] "r"(step)
      : "cc", "memory");
}
#undef LOGJAM_HASH_LOAD_STORE

void evict_line(const void* address) {
#if defined(__aarch64__)
  asm volatile("dc civac, %0" ::"r"(address) : "memory");
#else
  __builtin_ia32_clflush(address);
#endif
}

}  // namespace logjam::platform
