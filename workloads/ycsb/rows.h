// The rows of a YCSB table. Loaded rows have the numbers 0 to records - 1. The n-th row that worker
// w inserts, counted from 0, has the number records + n * kMostWorkers + w. A row's key is its
// number, or YCSB's hash of its number.
//
// So each worker counts its inserts n = 0, 1, 2, ... (In YCSB, all threads take numbers from one
// counter.) If a worker's row n is missing, and a later row of the worker exists, insert n was
// lost. A run that continues with recovered rows first uses each worker's missing numbers, and then
// the numbers after the worker's largest. So all rows below a worker's count exist.
#pragma once

#include <map>
#include <utility>

#include "platform/most_workers.h"
#include "platform/thread.h"
#include "workloads/ack_counter.h"
#include "workloads/ycsb/options.h"
#include "workloads/ycsb/row.h"
#include "workloads/zipf.h"

namespace logjam::ycsb {

struct KeySpace {
  uint64_t records = 0;
  bool hashed = false;

  uint64_t inserted(uint64_t n, uint32_t worker) const {
    LJ_ASSERT_IN_TESTS(worker < platform::kMostWorkers);
    return records + n * platform::kMostWorkers + worker;
  }
  // Returns the key of the row `number`. Two rows may have the same hash by chance: with a million
  // rows, in one of 10^7 loads. Such a load ends with an error message.
  Key key_of(uint64_t number) const { return hashed ? ycsb_hash(number) : number; }
};

// The numbers that one worker's inserts have not used yet.
class FreeNumbers {
 public:
  FreeNumbers() = default;
  // The free numbers are `missing`, and all numbers from `end` on.
  FreeNumbers(std::vector<uint64_t> missing, uint64_t end)
      : missing_(std::move(missing)), end_(end) {
    LJ_ASSERT(std::ranges::is_sorted(missing_) && (missing_.empty() || missing_.back() < end));
  }

  // Returns the free number with this index, from 0. A worker uses the numbers in this order, so
  // all numbers below the next free number are used.
  uint64_t at(uint64_t index) const {
    return index < missing_.size() ? missing_[index] : end_ + index - missing_.size();
  }

 private:
  std::vector<uint64_t> missing_;
  uint64_t end_ = 0;
};

// For each worker, the number n such that the worker's rows 0 to n - 1 exist.
//
// Protocol. A worker stores its count (relaxed) after the transactions that inserted the rows have
// committed. Other workers load the count (relaxed) to draw inserted rows. The count publishes no
// other memory, because workers reach the rows through the index. resume() sets the results of
// free() and workers() before any worker runs.
class Inserted {
 public:
  Inserted() : counts_(platform::kMostWorkers) {}
  void resume(uint32_t worker, FreeNumbers free) {
    publish(worker, free.at(0));
    workers_ = std::max(workers_, worker + 1);
    free_[worker] = std::move(free);
  }
  const FreeNumbers& free(uint32_t worker) const {
    static const FreeNumbers all;
    const auto found = free_.find(worker);
    return found == free_.end() ? all : found->second;
  }
  // Returns one more than the largest number of a worker that inserted rows in an earlier process.
  uint32_t workers() const { return workers_; }
  void publish(uint32_t worker, uint64_t count) {
    LJ_ASSERT_IN_TESTS(worker < platform::kMostWorkers && count >= this->count(worker));
    counts_[worker]->store(count, platform::memory_order_relaxed);
  }
  uint64_t count(uint32_t worker) const {
    return counts_[worker]->load(platform::memory_order_relaxed);
  }

 private:
  std::vector<platform::Padded<platform::atomic<uint64_t>>> counts_;
  std::map<uint32_t, FreeNumbers> free_;
  uint32_t workers_ = 0;
};

// Returns the number of the row that has `age` newer rows. `counts` has the number of rows that
// each worker has inserted. The workers' rows alternate, newest first, as if workers had inserted
// in turn, until a worker has no more rows. Loaded rows are the oldest.
inline uint64_t newest(const KeySpace& space, const std::vector<uint64_t>& counts, uint64_t age) {
  uint64_t dealt = 0;  // the number of each worker's rows that are newer
  while (true) {
    uint64_t active = 0, end = ~uint64_t{0};
    for (const uint64_t count : counts) {
      if (count <= dealt) continue;
      ++active;
      end = std::min(end, count);
    }
    if (active == 0) {
      LJ_ASSERT_IN_TESTS(age < space.records);
      return space.records - 1 - age;
    }
    if (age < (end - dealt) * active) {
      uint64_t turn = age % active;
      uint32_t worker = 0;
      while (counts[worker] <= dealt || turn-- > 0) ++worker;
      return space.inserted(counts[worker] - 1 - dealt - age / active, worker);
    }
    age -= (end - dealt) * active;
    dealt = end;
  }
}

// The fields of a row: a single field, which is the whole row, or ten. An update changes one field.
//
// The load writes the stamp 0. The stamps of an inserted row add up to 0. An update adds a number
// to a stamp. The numbers that a transaction adds have the sum 1, and look random if there are
// several. So the sum of all stamps is the number of transactions that updated fields, and shows
// lost updates and transactions that were recovered in part. A blind update (--ycsb_update=row)
// does not know the old stamp, and writes a new stamp.
struct Fields {
  explicit Fields(const Options& options)
      : count(options.by_field() ? kFields : 1), bytes(options.value_bytes / count) {}
  uint64_t owner(Key key, uint32_t field) const { return key * count + field; }
  void write(std::byte* row, Key key, uint32_t field, uint64_t stamp) const {
    LJ_ASSERT_IN_TESTS(field < count);
    fill_field(row + size_t{field} * bytes, bytes, owner(key, field), stamp);
  }
  void add(std::byte* row, Key key, uint32_t field, uint64_t delta) const {
    write(row, key, field, stamp_of(row + size_t{field} * bytes, bytes) + delta);
  }
  // Returns the sum of the row's stamps.
  uint64_t stamps(const std::byte* row) const {
    uint64_t sum = 0;
    for (uint32_t field = 0; field < count; ++field) {
      sum += stamp_of(row + size_t{field} * bytes, bytes);
    }
    return sum;
  }
  void load(std::byte* row, Key key) const {
    for (uint32_t field = 0; field < count; ++field) write(row, key, field, 0);
  }
  // Writes a row to insert. Its stamps follow from `seed`.
  void insert(std::byte* row, Key key, uint64_t seed) const {
    uint64_t sum = 0;
    for (uint32_t field = 0; field < count; ++field) {
      const uint64_t stamp = field + 1 < count ? mix64(seed + field) : -sum;
      write(row, key, field, stamp);
      sum += stamp;
    }
  }

  uint32_t count;
  uint32_t bytes;
};

// The acknowledged changes of a run's clients.
struct Acknowledged {
  struct Counts {
    uint64_t inserts = 0;
    uint64_t updating = 0;  // the number of transactions that update rows
  };
  void add(const Counts& counts) {
    inserts.add(counts.inserts);
    updating.add(counts.updating);
  }
  AckCounter inserts, updating;
};

// Checks that all rows exist, that each field is whole and under its own key, and that no insert
// and no update is lost. `any_order` allows that a recovered database has an insert without an
// earlier insert by the same worker. Call it when no transaction runs.
std::vector<Check> verify(Table& table, const Options& options, const Acknowledged& acknowledged,
                          bool any_order);

// Sets `inserted` and `acknowledged` for a run that continues with the rows of `table`. Call it
// when no transaction runs.
void resume(Table& table, const Options& options, Inserted* inserted, Acknowledged* acknowledged);

}  // namespace logjam::ycsb
