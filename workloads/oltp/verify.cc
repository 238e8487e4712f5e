#include <string>

#include "workloads/oltp/rows.h"
#include "workloads/parallel_check.h"
#include "workloads/table_checks.h"

namespace logjam::oltp {
namespace {

struct Found {
  uint64_t rows = 0, strays = 0;
  uint64_t current = 0;  // postings that lead from a row's present k to this row
  uint64_t misled = 0;   // postings that lead to another row
  uint64_t added_to_c = 0;
  uint64_t updates_of_k = 0;
  BrokenRows broken;
  void add(const Found& other) {
    rows += other.rows;
    strays += other.strays;
    current += other.current;
    misled += other.misled;
    added_to_c += other.added_to_c;
    updates_of_k += other.updates_of_k;
    broken.add(other.broken);
  }
};

const Row& row_of(const std::byte* bytes) { return *reinterpret_cast<const Row*>(bytes); }

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
  // One of a row's postings is under its present k; the others are left from earlier values of k.
  // The index has each (k, id) only once. So each row has its posting if the number of postings
  // that lead from a row's present k to this row is the number of rows.
  table.secondary(kByK).for_each(part, parts, [&](Keyed* entry) {
    const auto& posting = *static_cast<Posting*>(entry);
    const Tuple& tuple = *posting.tuple;
    if (tuple.load_version().absent() || row_of(tuple.row()).k != posting.key) return;
    ++(tuple.key == posting.primary ? found->current : found->misled);
  });
}

// Counts the rows to which the index does not lead.
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

std::vector<Check> verify(Database& database, const Scale& scale, uint32_t index_updates,
                          const AckCounter& transactions) {
  Found found;
  for (const auto& table : database.tables()) {
    found.add(sum_of_parts(Found{}, [&](uint32_t part, uint32_t parts, Found* sum) {
      find_part(*table, scale, part, parts, sum);
    }));
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
  // A transaction has changed both k and c, or none of them.
  const uint64_t expected = index_updates * found.added_to_c;
  checks.push_back({"every transaction is whole", found.updates_of_k == expected,
                    "c says " + std::to_string(found.added_to_c) + " transactions, k " +
                        std::to_string(found.updates_of_k) + " updates, of which each has " +
                        std::to_string(index_updates)});
  transactions.check("every transaction is there, and once", found.added_to_c, &checks);
  return checks;
}

}  // namespace logjam::oltp
