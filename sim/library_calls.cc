// Library functions that touch memory of the program. The linker sends their calls to the functions
// here (-Wl,--wrap), which charge the ranges and then call the real function. No other fiber runs
// during a copy. Under the explorer each piece of a copy is a step, so a copy may be torn.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sim/machine/charge.h"

using logjam::sim::Access;

namespace {

constexpr size_t kBytesAnInstruction = 32;  // a vector register
constexpr uint64_t kPowInstructions = 118;  // of glibc's pow(), counted by callgrind

void charge(const void* site, const void* at, size_t bytes, Access kind) {
  if (bytes == 0) return;
  logjam::sim::instructions(1 + bytes / kBytesAnInstruction);
  logjam::sim::access(site, at, bytes, kind);
}

// Calls `copy` for each piece. Under the explorer a piece's load and its store are two steps.
template <class Copy>
void in_pieces(const void* site, void* to, const void* from, size_t bytes, const Copy& copy) {
  constexpr size_t kWord = sizeof(uint64_t), kMostPieces = 32;
  const size_t piece = std::max(kWord, bytes / kMostPieces / kWord * kWord);
  const size_t pieces = (bytes + piece - 1) / piece;
  const bool backwards = from != nullptr && from < to;
  for (size_t i = 0; i < pieces; ++i) {
    const size_t at = (backwards ? pieces - 1 - i : i) * piece,
                 length = std::min(piece, bytes - at);
    char* target = static_cast<char*>(to) + at;
    if (from != nullptr) {
      logjam::sim::access(site, static_cast<const char*>(from) + at, length, Access::kLoad);
    }
    logjam::sim::access(site, target, length, Access::kStore);
    copy(target, at, length);
  }
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
void* __wrap_memmove(void* to, const void* from, size_t bytes);

void* __wrap_memcpy(void* to, const void* from, size_t bytes) {
  if (logjam::sim::exploring != nullptr) return __wrap_memmove(to, from, bytes);
  charge(LOGJAM_SITE, from, bytes, Access::kLoad);
  charge(LOGJAM_SITE, to, bytes, Access::kStore);
  return __real_memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, const void* from, size_t bytes) {
  if (logjam::sim::exploring != nullptr) {
    in_pieces(LOGJAM_SITE, to, from, bytes, [from](char* target, size_t at, size_t length) {
      __real_memmove(target, static_cast<const char*>(from) + at, length);
    });
    return to;
  }
  charge(LOGJAM_SITE, from, bytes, Access::kLoad);
  charge(LOGJAM_SITE, to, bytes, Access::kStore);
  return __real_memmove(to, from, bytes);
}
void* __wrap_memset(void* to, int value, size_t bytes) {
  if (logjam::sim::exploring != nullptr) {
    in_pieces(LOGJAM_SITE, to, nullptr, bytes, [value](char* target, size_t, size_t length) {
      __real_memset(target, value, length);
    });
    return to;
  }
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
