#include "workloads/table_checks.h"

#include <cstring>

#include "platform/most_workers.h"
#include "platform/text.h"
#include "workloads/parallel_check.h"

namespace logjam {
namespace {

constexpr size_t kShown = 60;  // the number of bytes of a value that a message shows

std::string shown(const Column& column, Key key, const std::byte* row) {
  std::string value;
  append_csv_field(column, key, row, &value);
  return value.size() <= kShown ? value : value.substr(0, kShown) + "...";
}

struct PostingCounts {
  uint64_t rows = 0, postings = 0;
  BrokenRows without, wrong;  // rows without a posting, and wrong postings
  auto members() { return std::tie(rows, postings, without, wrong); }
};

// Returns what is wrong with a posting, or null.
const char* wrong_posting(Table& table, const SecondarySchema& schema, const Posting& posting,
                          bool earlier_keys_left) {
  Keyed* entry = table.primary().find(posting.primary, nullptr);
  if (entry == nullptr) return "has a posting, but there is no such row";
  if (entry != posting.tuple) return "has a posting that leads to another tuple";
  if (earlier_keys_left || posting.tuple->load_version().absent()) return nullptr;
  return schema.key_of(posting.primary, posting.tuple->row()) == posting.key
             ? nullptr
             : "has a posting under a key that is not the row's";
}

}  // namespace

bool has_posting(Index& index, Key key, const Tuple& tuple) {
  bool found = false;
  index.find_all(key, [&](NodeVersion, std::span<Keyed* const> entries) {
    for (Keyed* entry : entries) {
      const auto& posting = *static_cast<const Posting*>(entry);
      found |= posting.primary == tuple.key && posting.tuple == &tuple;
    }
    return true;
  });
  return found;
}

std::string row_name(const Table& table, Key key) {
  std::string name;
  for (const Column& column : table.schema().columns) {
    if (column.of_key == nullptr) continue;
    platform::append_part(&name, " ", column.name + " " + std::to_string(column.of_key(key)));
  }
  return name.empty() ? "row " + std::to_string(key) : name;
}

std::string difference(const Table& table, Key key, const std::byte* found,
                       const std::byte* expected) {
  LJ_ASSERT(!table.schema().columns.empty());
  if (std::memcmp(found, expected, table.row_bytes()) == 0) return "";
  for (const Column& column : table.schema().columns) {
    if (column.of_key != nullptr) continue;
    if (std::memcmp(found + column.offset, expected + column.offset, column.bytes) == 0) continue;
    return column.name + " is " + shown(column, key, found) + ", not " +
           shown(column, key, expected);
  }
  return "a byte of no column differs";
}

Check check_postings(Table& table, size_t which, bool earlier_keys_left) {
  LJ_ASSERT(which < table.schema().secondaries.size());
  const SecondarySchema& schema = table.schema().secondaries[which];
  Index& index = table.secondary(which);
  const auto check_part = [&](uint32_t part, uint32_t parts, PostingCounts* sum) {
    table.primary().for_each(part, parts, [&](Keyed* entry) {
      const Tuple& tuple = *Table::tuple_of(entry);
      if (tuple.load_version().absent()) return;
      ++sum->rows;
      if (has_posting(index, schema.key_of(tuple.key, tuple.row()), tuple)) return;
      sum->without.note([&] { return row_name(table, tuple.key) + " has no posting"; });
    });
    index.for_each(part, parts, [&](Keyed* entry) {
      const auto& posting = *static_cast<const Posting*>(entry);
      ++sum->postings;
      const char* wrong = wrong_posting(table, schema, posting, earlier_keys_left);
      if (wrong == nullptr) return;
      sum->wrong.note([&] { return row_name(table, posting.primary) + " " + wrong; });
    });
  };
  const PostingCounts found = sum_of_parts(PostingCounts{}, check_part);
  const std::string counts =
      std::to_string(found.rows) + " rows and " + std::to_string(found.postings) + " postings";
  Check check{
      .name = "index " + schema.name + " of " + table.schema().name + " has what the rows have",
      .passed = found.without.count + found.wrong.count == 0,
      .detail = "holds, " + counts + " compared"};
  if (!check.passed) {
    check.detail = found.without.first +
                   (found.without.count != 0 && found.wrong.count != 0 ? ", " : "") +
                   found.wrong.first + " (" + std::to_string(found.without.count) +
                   " rows without a posting, " + std::to_string(found.wrong.count) +
                   " wrong postings, of " + counts + ")";
  }
  return check;
}

std::map<uint64_t, Key> last_keys_of_workers(Table& table, unsigned count_bits, Key loaded) {
  LJ_ASSERT(table.schema().kind == IndexKind::kOrdered);
  std::map<uint64_t, Key> last;
  for (Key end = Key{platform::kMostWorkers} << count_bits; end > 0;) {
    bool any = false;
    table.primary().scan(0, end - 1, true, [&](NodeVersion, std::span<Keyed* const> entries) {
      for (const Keyed* entry : entries) {
        if (static_cast<const Tuple*>(entry)->load_version().absent()) continue;
        end = entry->key;
        any = true;
        return false;
      }
      return true;
    });
    if (!any) break;
    const Key first = end >> count_bits << count_bits;  // of the worker
    if ((end & loaded) != 0) {
      end = first | loaded;
    } else {
      last[end >> count_bits] = end;
      end = first;
    }
  }
  return last;
}

}  // namespace logjam
