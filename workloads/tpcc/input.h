// Random input as TPC-C prescribes it (specification v5.11, clauses 2.1.6 and 4.3.2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "workloads/random.h"

namespace logjam::tpcc {

// The run-time constants C of NURand, one a field, the same for all clients of a run.
struct NuRandConstants {
  uint32_t last_name;
  uint32_t customer;
  uint32_t item;

  static NuRandConstants of_load();
  // Clause 2.1.6.1: the last names of a run are drawn with another C than those of the load, and
  // the two differ by 65 to 119, but not by 96 or 112.
  static NuRandConstants of_run(uint64_t seed);
};
bool last_name_constants_differ_enough(uint32_t load, uint32_t run);

// Clause 2.1.6: not uniform over [low, high].
inline uint32_t nu_rand(Random& random, uint32_t a, uint32_t c, uint32_t low, uint32_t high) {
  const uint64_t mixed = random.below(uint64_t{a} + 1) | (low + random.below(high - low + 1));
  return static_cast<uint32_t>((mixed + c) % (high - low + 1) + low);
}

// Clause 4.3.2.3: three syllables for a number below 1000, padded with zero bytes.
void make_last_name(uint32_t number, char (&name)[16]);

// Clause 4.3.2.2: random letters and digits (or digits only), a random number of them; the rest of
// the field is zeroed.
void fill_alphanumeric(Random& random, char* field, size_t field_bytes, size_t low, size_t high);
void fill_digits(Random& random, char* field, size_t bytes);
// Clause 4.3.3.1: 26 to 50 characters, in one row of ten with "ORIGINAL" somewhere among them.
void fill_brand_data(Random& random, char (&data)[50]);

// What a zero-padded field says.
template <size_t N>
std::string_view text(const char (&field)[N]) {
  return {field, strnlen(field, N)};
}

}  // namespace logjam::tpcc
