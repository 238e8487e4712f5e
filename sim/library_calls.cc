// Library functions that touch memory of the program. The linker sends their calls to the functions
// here (-Wl,--wrap), which charge the ranges and then call the real function. Other fibers may run
// while the ranges are charged, but not during the copy, so a copy is never torn.
#include <cstddef>

#include "sim/charge.h"

using logjam::sim::Access;

namespace {

constexpr size_t kBytesAnInstruction = 32;  // a vector register
constexpr uint64_t kPowInstructions = 118;  // of glibc's pow(), counted by callgrind

void charge(const void* site, const void* at, size_t bytes, Access kind) {
  if (bytes == 0) return;
  logjam::sim::instructions(1 + bytes / kBytesAnInstruction);
  logjam::sim::access(site, at, bytes, kind);
}

}  // namespace

#define LOGJAM_SITE __builtin_return_address(0)

extern "C" {

void* __real_memcpy(void* to, const void* from, size_t bytes);
void* __real_memmove(void* to, const void* from, size_t bytes);
void* __real_memset(void* to, int value, size_t bytes);
int __real_memcmp(const void* one, const void* other, size_t bytes);
void* __real_memchr(const void* at, int value, size_t bytes);
size_t __real_strnlen(const char* at, size_t bytes);
double __real_pow(double base, double exponent);

void* __wrap_memcpy(void* to, const void* from, size_t bytes) {
  charge(LOGJAM_SITE, from, bytes, Access::kLoad);
  charge(LOGJAM_SITE, to, bytes, Access::kStore);
  return __real_memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, const void* from, size_t bytes) {
  charge(LOGJAM_SITE, from, bytes, Access::kLoad);
  charge(LOGJAM_SITE, to, bytes, Access::kStore);
  return __real_memmove(to, from, bytes);
}
void* __wrap_memset(void* to, int value, size_t bytes) {
  charge(LOGJAM_SITE, to, bytes, Access::kStore);
  return __real_memset(to, value, bytes);
}
int __wrap_memcmp(const void* one, const void* other, size_t bytes) {
  charge(LOGJAM_SITE, one, bytes, Access::kLoad);
  charge(LOGJAM_SITE, other, bytes, Access::kLoad);
  return __real_memcmp(one, other, bytes);
}
void* __wrap_memchr(const void* at, int value, size_t bytes) {
  void* found = __real_memchr(at, value, bytes);
  const size_t seen =
      found == nullptr
          ? bytes
          : static_cast<size_t>(static_cast<char*>(found) - static_cast<const char*>(at)) + 1;
  charge(LOGJAM_SITE, at, seen, Access::kLoad);
  return found;
}
size_t __wrap_strnlen(const char* at, size_t bytes) {
  const size_t length = __real_strnlen(at, bytes);
  charge(LOGJAM_SITE, at, length, Access::kLoad);
  return length;
}
double __wrap_pow(double base, double exponent) {
  logjam::sim::instructions(kPowInstructions);
  return __real_pow(base, exponent);
}

}  // extern "C"
