// Sums and checks over tables and other large collections, on all cores, for Workload::load(),
// resume() and verify().
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "engine/storage/database.h"
#include "platform/parallel.h"
#include "platform/thread.h"
#include "workloads/wrapping.h"

namespace logjam {

// The indexes [first, last), for a loop.
struct IndexRange {
  struct Iterator {
    uint64_t operator*() const { return number; }
    void operator++() { ++number; }
    bool operator==(const Iterator&) const = default;
    uint64_t number;
  };
  Iterator begin() const { return {first}; }
  Iterator end() const { return {last}; }
  uint64_t first, last;
};

// Divides the numbers [first, first + count) into `parts` ranges. Returns range number `part`.
inline IndexRange part_of(uint64_t count, uint32_t part, uint32_t parts, uint64_t first = 0) {
  return {first + count * part / parts, first + count * (part + 1) / parts};
}

// Adds `later`, the sum of a later part, to `sum`. If Sum is a class, it needs add(), or members(),
// which returns a tuple of references to the members to add.
template <class Sum>
void add_part(Sum& sum, Sum& later) {
  if constexpr (std::is_integral_v<Sum>) {
    add_to(sum, later);
  } else if constexpr (requires { sum.members(); }) {
    std::apply(
        [&](auto&... member) {
          std::apply([&](auto&... other) { (add_part(member, other), ...); }, later.members());
        },
        sum.members());
  } else {
    sum.add(later);
  }
}

// Computes a sum on all cores. count_part(part, parts, &sum) adds part number `part` of `parts` to
// a Sum that begins as `nothing`. add_part() adds these sums in the order of the parts, so the
// result does not depend on timing. If `items` is small, the calling thread computes the sum alone,
// because starting threads would cost more.
template <class Sum, class CountPart>
Sum sum_of_parts(const Sum& nothing, const CountPart& count_part, uint64_t items = ~uint64_t{0}) {
  constexpr uint32_t kPartsPerCore = 4;  // with smaller parts, a slow part delays the sum less
  constexpr uint64_t kFewItems = 1000;
  if (items < kFewItems) {
    Sum sum = nothing;
    count_part(0, 1, &sum);
    return sum;
  }
  const auto cores = static_cast<uint32_t>(platform::core_count());
  std::vector<Sum> sums(size_t{cores} * kPartsPerCore, nothing);
  const auto parts = static_cast<uint32_t>(sums.size());
  platform::parallel_for_parts(parts, cores, [&](uint32_t part) {
    Sum sum = nothing;
    count_part(part, parts, &sum);
    sums[part] = std::move(sum);
  });
  Sum all = nothing;
  for (Sum& sum : sums) add_part(all, sum);
  return all;
}

// Returns the sum, modulo 2^64, of number_of(key, row) over all present rows. Call it when no
// transaction runs.
template <class NumberOf>
uint64_t sum_of_rows(Table& table, const NumberOf& number_of) {
  return sum_of_parts(uint64_t{0}, [&](uint32_t part, uint32_t parts, uint64_t* sum) {
    table.for_each_row(part, parts, [&](Key key, const std::byte* row) {
      *sum += static_cast<uint64_t>(number_of(key, row));
    });
  });
}

inline uint64_t count_rows(Table& table) {
  return sum_of_rows(table, [](Key, const std::byte*) { return 1; });
}

// Counts the broken rows that Workload::verify() finds, and describes the first.
struct BrokenRows {
  uint64_t count = 0;
  std::string first;

  // Counts a broken row. If it is the first, calls what(), which returns a description of the row.
  template <class What>
  void note(const What& what) {
    if (count++ == 0) first = what();
  }
  void add(const BrokenRows& later) {
    if (count == 0) first = later.first;
    count += later.count;
  }
};

// The violation that a part found. add() keeps the violation of the earliest part, so that the
// result does not depend on timing.
struct Violation {
  std::string sentence;
  void add(const Violation& later) {
    if (sentence.empty()) sentence = later.sentence;
  }
};

// Returns the first sentence that violation_of(i) returns for an i below `count`, or an empty
// string if it returns none. Several threads call violation_of at once.
template <class ViolationOf>
std::string first_violation(size_t count, const ViolationOf& violation_of) {
  const auto look = [&](uint32_t part, uint32_t parts, Violation* found) {
    for (const size_t i : part_of(count, part, parts)) {
      found->sentence = violation_of(i);
      if (!found->sentence.empty()) return;
    }
  };
  return sum_of_parts(Violation{}, look, count).sentence;
}

}  // namespace logjam
