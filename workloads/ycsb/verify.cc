
#include "platform/fatal.h"
#include "workloads/parallel_check.h"
#include "workloads/table_checks.h"
#include "workloads/ycsb/rows.h"

namespace logjam::ycsb {
namespace {

struct Found {
  uint64_t rows = 0;
  uint64_t loaded = 0;   // rows of the load
  uint64_t ordered = 0;  // inserted rows before the first gap in their worker's numbers
  uint64_t stamps = 0;   // the sum of all stamps
  BrokenRows missing, broken, gaps;
  auto members() { return std::tie(rows, loaded, ordered, stamps, missing, broken, gaps); }
};

// Looks rows up by their numbers. A row's number cannot be computed from its key, because a key may
// be a hash.
struct Rows {
  bool have(uint64_t number) const {
    return find_row<std::byte>(table, space.key_of(number)) != nullptr;
  }
  bool have_insert(uint64_t n, uint32_t worker) const { return have(space.inserted(n, worker)); }
  // Returns how many rows the worker has inserted before its first gap.
  uint64_t inserted_in_order(uint32_t worker) const {
    uint64_t n = 0;
    while (have_insert(n, worker)) ++n;
    return n;
  }

  Table& table;
  const KeySpace space;
};

void look_at_rows(Table& table, const Fields& fields, uint32_t part, uint32_t parts, Found* found) {
  std::vector<std::byte> scratch(fields.bytes);
  table.for_each_row(part, parts, [&](Key key, const std::byte* row) {
    ++found->rows;
    found->stamps += fields.stamps(row);
    for (uint32_t field = 0; field < fields.count; ++field) {
      const size_t wrong = first_wrong_byte(row + size_t{field} * fields.bytes, fields.bytes,
                                            fields.owner(key, field), scratch.data());
      if (wrong == fields.bytes) continue;
      found->broken.note([&] {
        return "; first: key " + std::to_string(key) + " from byte " +
               std::to_string(size_t{field} * fields.bytes + wrong);
      });
    }
  });
}

// Counts the rows that the worker inserted before its first gap. Looks at a thousand numbers after
// the gap, to name the first lost insert.
void follow_inserts(const Rows& rows, uint32_t worker, Found* found) {
  constexpr uint64_t kFurther = 1000;
  const uint64_t n = rows.inserted_in_order(worker);
  found->ordered += n;
  for (uint64_t later = n + 1; later <= n + kFurther; ++later) {
    if (!rows.have_insert(later, worker)) continue;
    found->gaps.note([&] {
      return "; missing: insert " + std::to_string(n) + " of worker " + std::to_string(worker) +
             ", whose insert " + std::to_string(later) + " is there";
    });
    return;
  }
}

// Checks that `count`, the sum of the stamps, is small enough for a number of transactions. After a
// recovery the right number is unknown. But a transaction that was recovered in part makes the sum
// an arbitrary number (Fields), which is probably too large.
Check plausible_updates(uint64_t count, uint64_t mask) {
  constexpr uint64_t kMost = uint64_t{1} << 48;
  return {"every update is whole", mask < kMost || count < kMost,
          "stamps add up to " + std::to_string(count) + " transactions"};
}

}  // namespace

std::vector<Check> verify(Table& table, const Options& options, const Acknowledged& acknowledged,
                          bool any_order) {
  const Fields fields(options);
  const Rows rows{table, {options.records, options.hashed}};
  const Found found = sum_of_parts(Found{}, [&](uint32_t part, uint32_t parts, Found* sum) {
    look_at_rows(table, fields, part, parts, sum);
    for (const uint64_t number : part_of(options.records, part, parts)) {
      if (rows.have(number)) {
        ++sum->loaded;
      } else {
        sum->missing.note([&] { return "; missing: row " + std::to_string(number); });
      }
    }
    for (uint32_t worker = part; options.insert_ratio != 0 && worker < platform::kMostWorkers;
         worker += parts) {
      follow_inserts(rows, worker, sum);
    }
  });
  const uint64_t inserted = found.rows - found.loaded;
  std::vector<Check> checks = {
      {"every row is there",
       found.loaded == options.records && (inserted == 0 || options.insert_ratio > 0),
       std::to_string(found.loaded) + " rows of " + std::to_string(options.records) + " loaded, " +
           std::to_string(inserted) + " never loaded" + found.missing.first},
      {"every row is whole", found.broken.count == 0,
       std::to_string(found.broken.count) + " torn or foreign fields in " +
           std::to_string(found.rows) + " rows" + found.broken.first},
  };
  if (options.insert_ratio > 0) {
    // A worker's transactions are in order, but the inserts of one transaction are not.
    const bool in_order = !any_order && options.ops == 1;
    checks.push_back({"no insert is missing before a later one of its worker",
                      found.ordered == inserted || !in_order,
                      std::to_string(inserted) + " rows inserted, " +
                          std::to_string(found.ordered) + " without a gap" + found.gaps.first});
    acknowledged.inserts.check("every row inserted is there", inserted, &checks);
  }
  if (options.blind()) return checks;
  const uint64_t mask = stamp_mask(fields.bytes);
  const size_t before = checks.size();
  acknowledged.updating.check("every update is there, and once", found.stamps & mask, &checks, 0,
                              mask);
  if (checks.size() == before) checks.push_back(plausible_updates(found.stamps & mask, mask));
  return checks;
}

namespace {

// One worker's inserts: how many are before the first gap, and the numbers n of inserts after it.
struct Worker {
  uint64_t ordered = 0;
  std::vector<uint64_t> after_gap;

  FreeNumbers free() const {
    std::vector<uint64_t> missing;
    uint64_t end = ordered;
    for (const uint64_t number : after_gap) {
      while (end < number) missing.push_back(end++);
      end = number + 1;
    }
    return {std::move(missing), end};
  }
};

struct Workers {
  std::vector<Worker> all{platform::kMostWorkers};
  uint64_t found = 0;
  void add(const Workers& later) {
    found += later.found;
    for (uint32_t worker = 0; worker < platform::kMostWorkers; ++worker) {
      all[worker].ordered += later.all[worker].ordered;
    }
  }
};

// Looks up the rows that workers may have inserted, until it has found `inserted` rows.
Workers find_inserts(const Rows& rows, uint64_t inserted) {
  Workers workers = sum_of_parts(Workers{}, [&](uint32_t part, uint32_t parts, Workers* found) {
    for (uint32_t worker = part; worker < platform::kMostWorkers; worker += parts) {
      found->found += found->all[worker].ordered = rows.inserted_in_order(worker);
    }
  });
  // The transaction that inserts a missing row was in flight when the process ended. So a gap is
  // not longer than the number of transactions that a worker has in flight.
  constexpr uint64_t kFurthest = 100'000;
  for (uint64_t step = 1; workers.found < inserted && step <= kFurthest; ++step) {
    for (uint32_t w = 0; w < platform::kMostWorkers; ++w) {
      Worker& worker = workers.all[w];
      if (!rows.have_insert(worker.ordered + step, w)) continue;
      worker.after_gap.push_back(worker.ordered + step);
      ++workers.found;
    }
  }
  return workers;
}

}  // namespace

void resume(Table& table, const Options& options, Inserted* inserted, Acknowledged* acknowledged) {
  const Fields fields(options);
  const uint64_t present = count_rows(table);
  const uint64_t inserts = present < options.records ? 0 : present - options.records;
  const Rows rows{table, {options.records, options.hashed}};
  const Workers workers = inserts == 0 ? Workers{} : find_inserts(rows, inserts);
  if (workers.found != inserts) {
    platform::fatal("ycsb: there are " + std::to_string(inserts) + " inserted rows, and only " +
                        std::to_string(workers.found) + " under keys that workers insert",
                    platform::kExitViolation);
  }
  for (uint32_t worker = 0; worker < platform::kMostWorkers; ++worker) {
    FreeNumbers free = workers.all[worker].free();
    if (free.at(0) != 0 || free.at(1) != 1) inserted->resume(worker, std::move(free));
  }
  acknowledged->inserts.resume(inserts);
  acknowledged->updating.resume(
      sum_of_rows(table, [&](Key, const std::byte* row) { return fields.stamps(row); }));
}

}  // namespace logjam::ycsb
