#include "workloads/oltp/rows.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "workloads/random.h"

namespace logjam::oltp {
namespace {

constexpr size_t kGroup = 11;

// Writes groups of digits, whose n-th digit is digit(n).
template <class Digit>
void fill_groups(char* text, size_t bytes, const Digit& digit) {
  size_t n = 0;
  for (size_t i = 0; i + 1 < bytes; ++i) {
    text[i] = i % (kGroup + 1) == kGroup ? '-' : static_cast<char>('0' + digit(n++));
  }
  text[bytes - 1] = 0;
}

// Returns the number with which c of row `id` begins after the load.
uint64_t loaded(uint64_t id) { return mix64(id); }

// Fills pad so that updates_of_k() is `updates` with the row's k. The upper half of the number in
// pad makes it look random.
void fill_pad(Row* row, uint64_t id, int32_t updates) {
  const uint64_t seed = mix64(id ^ row->k) << 32 | (static_cast<uint32_t>(updates) - row->k);
  fill_text(row->pad.data(), row->pad.size(), ~id, seed);
}

}  // namespace

Columns columns() {
  return Columns()
      .key("id", [](Key key) { return key; })
      .field("k", &Row::k)
      .field("c", &Row::c)
      .field("pad", &Row::pad);
}

// Writes the seed, which has up to 20 decimal digits, into the first two groups.
void fill_text(char* text, size_t bytes, uint64_t owner, uint64_t seed) {
  LJ_ASSERT_IN_TESTS(bytes == sizeof(Row::c) || bytes == sizeof(Row::pad));
  Random random(seed, owner);
  uint64_t bits = 0;
  std::array<uint8_t, 2 * kGroup> decimals{};
  for (size_t i = decimals.size(); i > 0; seed /= 10) decimals[--i] = seed % 10;
  fill_groups(text, bytes, [&](size_t n) -> uint64_t {
    if (n < decimals.size()) return decimals[n];
    if (n % 4 == 2) bits = random.next();  // sixteen bits for each digit
    const uint64_t digit = (bits & 0xffff) * 10 >> 16;
    bits >>= 16;
    return digit;
  });
}

uint64_t seed_of(const char* text) {
  uint64_t seed = 0;
  for (size_t i = 0; i < 2 * kGroup + 1; ++i) {
    if (i != kGroup) seed = seed * 10 + static_cast<uint64_t>(text[i] - '0');
  }
  return seed;
}

bool is_text_of(const char* text, size_t bytes, uint64_t owner) {
  std::array<char, 120> expected;
  fill_text(expected.data(), bytes, owner, seed_of(text));
  return std::memcmp(text, expected.data(), bytes) == 0;
}

void load_row(Row* row, uint64_t id, uint32_t k) {
  row->k = k;
  fill_text(row->c.data(), row->c.size(), id, loaded(id));
  fill_pad(row, id, 0);
}

void add_to_c(Row* row, uint64_t id, uint64_t delta) {
  fill_text(row->c.data(), row->c.size(), id, seed_of(row->c.data()) + delta);
}

void replace(Row* row, uint64_t id, const Row& old, uint32_t k, uint64_t delta) {
  row->k = k;
  row->c = old.c;
  add_to_c(row, id, delta);
  fill_pad(row, id, updates_of_k(old));
}

uint64_t added_to_c(const Row& row, uint64_t id) { return seed_of(row.c.data()) - loaded(id); }

int32_t updates_of_k(const Row& row) {
  return static_cast<int32_t>(row.k + static_cast<uint32_t>(seed_of(row.pad.data())));
}

bool is_whole(const Row& row, uint64_t id) {
  return is_text_of(row.c.data(), row.c.size(), id) &&
         is_text_of(row.pad.data(), row.pad.size(), ~id);
}

std::string table_name(uint32_t number) { return "sbtest" + std::to_string(number); }

}  // namespace logjam::oltp
