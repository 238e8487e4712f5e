#include "workloads/oltp/rows.h"

#include <cstring>

#include "workloads/parallel_check.h"
#include "workloads/table_checks.h"

namespace logjam::oltp {
namespace {

constexpr size_t kGroup = 11;

// Writes groups of digits. Digit number n is digit(n).
template <class Digit>
void fill_groups(char* text, size_t bytes, const Digit& digit) {
  size_t n = 0;
  for (size_t i = 0; i + 1 < bytes; ++i) {
    text[i] = i % (kGroup + 1) == kGroup ? '-' : static_cast<char>('0' + digit(n++));
  }
  text[bytes - 1] = 0;
}

// Returns the number with which the loaded text c of row `id` begins.
uint64_t loaded(uint64_t id) { return mix64(id); }

// Fills column pad so that updates_of_k() returns `updates` while the row has its present k. The
// upper half of the number in pad serves only to make this number look random.
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

namespace {

struct Found {
  uint64_t rows = 0, strays = 0;
  uint64_t current = 0;  // postings that lead from a row's present k to this row
  uint64_t misled = 0;   // postings whose tuple is not the row that they name
  uint64_t added_to_c = 0;
  uint64_t updates_of_k = 0;
  BrokenRows broken;
  auto members() {
    return std::tie(rows, strays, current, misled, added_to_c, updates_of_k, broken);
  }
};

void find_part(Table& table, const Scale& scale, uint32_t part, uint32_t parts, Found* found) {
  table.for_each_row(part, parts, [&](Key id, const std::byte* bytes) {
    const Row& row = row_of(bytes);
    ++found->rows;
    found->strays += id < 1 || id > scale.rows;
    found->added_to_c += added_to_c(row, id);
    found->updates_of_k += static_cast<uint64_t>(int64_t{updates_of_k(row)});
    if (is_whole(row, id)) return;
    found->broken.note(
        [&] { return "; first: " + table.schema().name + " " + std::to_string(id); });
  });
  // A row may have a posting under its present k, and others under earlier values of k. The index
  // has each (k, id) only once. So if the postings under present values of k are as many as the
  // rows, each row has a posting under its present k.
  table.secondary(kByK).for_each(part, parts, [&](Keyed* entry) {
    const auto& posting = *static_cast<Posting*>(entry);
    const Tuple& tuple = *posting.tuple;
    if (tuple.load_version().absent() || row_of(tuple.row()).k != posting.key) return;
    ++(tuple.key == posting.primary ? found->current : found->misled);
  });
}

// Counts the rows that have no posting under their present k.
BrokenRows unposted_rows(Database& database) {
  BrokenRows rows;
  for (const auto& table : database.tables()) {
    table->primary().for_each([&](Keyed* entry) {
      const Tuple& tuple = *Table::tuple_of(entry);
      if (tuple.load_version().absent()) return;
      if (has_posting(table->secondary(kByK), row_of(tuple.row()).k, tuple)) return;
      rows.note(
          [&] { return "; first: " + table->schema().name + " " + std::to_string(tuple.key); });
    });
  }
  return rows;
}

}  // namespace

uint64_t transactions_there(Database& database) {
  uint64_t sum = 0;
  for (const auto& table : database.tables()) {
    sum += sum_of_rows(*table,
                       [](Key id, const std::byte* row) { return added_to_c(row_of(row), id); });
  }
  return sum;
}

std::vector<Check> verify(Database& database, const Scale& scale, const AckCounter& transactions) {
  Found found;
  for (const auto& table : database.tables()) {
    Found in_table = sum_of_parts(Found{}, [&](uint32_t part, uint32_t parts, Found* sum) {
      find_part(*table, scale, part, parts, sum);
    });
    add_part(found, in_table);
  }
  const uint64_t loaded = scale.tables * scale.rows;
  const bool posted = found.current == found.rows && found.misled == 0;
  const BrokenRows unposted = posted ? BrokenRows{} : unposted_rows(database);
  std::vector<Check> checks = {
      {"every row is there", found.rows == loaded && found.strays == 0,
       std::to_string(found.rows) + " rows, " + std::to_string(loaded) + " loaded, " +
           std::to_string(found.strays) + " under ids never loaded"},
      {"every row is whole", found.broken.count == 0,
       std::to_string(found.broken.count) + " torn or misplaced" + found.broken.first},
      {"every row is found by k", posted,
       std::to_string(found.current) + " postings lead to their row under its k, " +
           std::to_string(found.misled) + " to another; " + std::to_string(unposted.count) +
           " of " + std::to_string(found.rows) + " rows have none" + unposted.first},
  };
  // A whole transaction changes both k and c, so the two sums agree.
  const uint64_t expected = kIndexUpdates * found.added_to_c;
  checks.push_back({"every transaction is whole", found.updates_of_k == expected,
                    "c says " + std::to_string(found.added_to_c) + " transactions, k " +
                        std::to_string(found.updates_of_k) + " updates, of which each has " +
                        std::to_string(kIndexUpdates)});
  transactions.check("every transaction is there, and once", found.added_to_c, &checks);
  return checks;
}

}  // namespace logjam::oltp
