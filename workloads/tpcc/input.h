// Random input as TPC-C prescribes it (specification v5.11, clauses 2.1.6 and 4.3.2).
//
// A field is a char array without a terminating zero. Zero bytes pad short contents.
#pragma once

#include <cstring>
#include <string_view>

#include "workloads/random.h"

namespace logjam::tpcc {

// The run-time constants C of NURand, one for each field, the same for all clients of a run.
struct NuRandConstants {
  uint32_t last_name;
  uint32_t customer;
  uint32_t item;

  // Returns the constants of the initial population, which are the same for every load.
  static NuRandConstants of_load();
  // Returns the constants of a run, which follow from its seed. The constant for last names differs
  // from the load's constant by 65 to 119, but not by 96 or 112 (clause 2.1.6.1).
  static NuRandConstants of_run(uint64_t seed);
};
// Returns whether two constants for last names differ as clause 2.1.6.1 demands.
bool last_name_constants_differ_enough(uint32_t load, uint32_t run);

// Draws NURand(a, low, high) of clause 2.1.6 with the constant `c`.
inline uint32_t nu_rand(Random& random, uint32_t a, uint32_t c, uint32_t low, uint32_t high) {
  LJ_ASSERT_IN_TESTS(low <= high && c <= a);
  const uint64_t mixed = random.below(uint64_t{a} + 1) | (low + random.below(high - low + 1));
  return static_cast<uint32_t>((mixed + c) % (high - low + 1) + low);
}

// Writes the last name that belongs to `number`: three syllables (clause 4.3.2.3).
void make_last_name(uint32_t number, char (&name)[16]);

// Fills a field of `field_bytes` with `low` to `high` random letters and digits (clause 4.3.2.2).
void fill_alphanumeric(Random& random, char* field, size_t field_bytes, size_t low, size_t high);
// Fills a field with random digits (clause 4.3.2.2).
void fill_digits(Random& random, char* field, size_t bytes);
// Fills `data` with 26 to 50 characters, with "ORIGINAL" in 10 % of the cases (clause 4.3.3.1).
void fill_brand_data(Random& random, char (&data)[50]);

// Returns the contents of a field without its padding. The view points into the field.
template <size_t N>
std::string_view text(const char (&field)[N]) {
  return {field, strnlen(field, N)};
}

}  // namespace logjam::tpcc
