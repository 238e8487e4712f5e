// The rows of sysbench's tables, sbtestN(id primary key, k indexed, c char(120), pad char(60)),
// their range queries and their checks.
//
// The texts c and pad, which sysbench fills with random digits, begin with counters here. Updates
// of c, and deletes with inserts, add to the number in c; a transaction adds 1 in total. The number
// in pad plus k is the number of updates of k under this id. A delete with an insert copies both
// counters to the new row. So the sums over all rows show updates and transactions that were lost
// or recovered in part.
#pragma once

#include <algorithm>

#include "workloads/ack_counter.h"
#include "workloads/random.h"

namespace logjam::oltp {

struct Row {
  uint32_t k;
  std::array<char, 120> c;   // ten groups of eleven digits, separated by dashes
  std::array<char, 60> pad;  // five groups of eleven digits, separated by dashes
};

Columns columns();

inline const Row& row_of(const std::byte* bytes) { return *reinterpret_cast<const Row*>(bytes); }

inline constexpr size_t kByK = 0;             // the secondary index on k: ordered, not unique
inline constexpr uint32_t kIndexUpdates = 1;  // updates of k in a transaction

// Fills `text` with digits: `seed`, and then digits that follow from `seed` and `owner`. So
// is_text_of() recognizes a torn or misplaced text.
void fill_text(char* text, size_t bytes, uint64_t owner, uint64_t seed);
uint64_t seed_of(const char* text);
// Returns whether fill_text() made `text` for this owner, with any seed.
bool is_text_of(const char* text, size_t bytes, uint64_t owner);

void load_row(Row* row, uint64_t id, uint32_t k);
// Adds `delta` to the number in c, and rewrites the rest of the text.
void add_to_c(Row* row, uint64_t id, uint64_t delta);
// Fills the row that replaces `old` under its id, with a new k. Adds `delta` to the number in c.
void replace(Row* row, uint64_t id, const Row& old, uint32_t k, uint64_t delta);

// Returns the sum of all numbers that transactions have added to the number in c of the row `id`.
uint64_t added_to_c(const Row& row, uint64_t id);
int32_t updates_of_k(const Row& row);

// Returns whether both texts of the row belong to the row `id`.
bool is_whole(const Row& row, uint64_t id);

struct Scale {
  uint32_t tables = 1;
  uint64_t rows = 10'000;  // of a table; ids are 1 to `rows`
};

// Returns the name of the table with this number, counted from 1.
std::string table_name(uint32_t number);

// Draws an id in [1, n]. If `special` is false, draws uniformly. Otherwise draws as sysbench 1.0
// does by default: --rand-type=special, --rand-spec-res=75, --rand-spec-pct=1, --rand-spec-iter=12.
// A quarter of the special ids are the mean of twelve uniform numbers, so they are densest in the
// middle. The other ids are in a hot range in the middle. sysbench uses one number in [0, 1) twice:
// if it is at least 1/4, the id is in the hot range, and the same number times the range's size is
// the id's position there. So no id is in the first quarter of the range.
inline uint64_t draw_id(Random& random, uint64_t n, bool special) {
  LJ_ASSERT_IN_TESTS(n > 0);
  if (!special) return 1 + random.below(n);
  const auto span = static_cast<double>(n - 1);
  const double branch = random.unit();
  if (branch < 0.25) {
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += random.unit();
    return 1 + static_cast<uint64_t>(sum / 12 * span);
  }
  const double range = span * 0.01;
  return 1 + static_cast<uint64_t>((span - range) / 2 + branch * (range + 1));
}

// The four range queries of sysbench's oltp_read_write, over ids in [from, to].
enum class Range : uint8_t {
  kSimple,    // SELECT c
  kSum,       // SELECT SUM(k)
  kOrder,     // SELECT c ... ORDER BY c
  kDistinct,  // SELECT DISTINCT c ... ORDER BY c
};

// The range queries of one client, which reuses the object, so that queries allocate nothing.
struct RangeSelect {
  explicit RangeSelect(uint32_t expected_rows) { rows.reserve(expected_rows); }

  Status run(Transaction& txn, Table& table, Range range, Key from, Key to) {
    rows.clear();
    sum = 0;
    const Status status = txn.scan(table, from, to, false, [this](Key, const std::byte* row) {
      rows.push_back(reinterpret_cast<const Row*>(row));
      return true;
    });
    if (status != Status::kOk) return status;
    if (range == Range::kSum) {
      for (const Row* row : rows) sum += row->k;
    } else if (range != Range::kSimple) {
      const auto c_of = [](const Row* row) {
        return std::string_view(row->c.data(), row->c.size());
      };
      std::ranges::sort(rows, {}, c_of);
      const auto same = [&](const Row* a, const Row* b) { return c_of(a) == c_of(b); };
      if (range == Range::kDistinct) {
        rows.erase(std::unique(rows.begin(), rows.end(), same), rows.end());
      }
    }
    return status;
  }

  // The rows whose c the last query returned, in the query's order. The pointers stay valid until
  // the transaction ends.
  std::vector<const Row*> rows;
  uint64_t sum = 0;  // the result of a kSum query
};

// Returns the number of transactions that the rows show. Call it when no transaction runs.
uint64_t transactions_there(Database& database);

// Checks that all rows are present and whole, that the index on k leads to each row and to nothing
// else, and that no update was lost. Call it when no transaction runs.
std::vector<Check> verify(Database& database, const Scale& scale, const AckCounter& transactions);

}  // namespace logjam::oltp
