// The first violation among many things, which are checked on all cores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "workloads/parallel_sum.h"

namespace logjam {

// The violation that a part found. If several parts find one, the first part's counts, so the
// result is always the same.
struct Violation {
  std::string sentence;
  void add(const Violation& later) {
    if (sentence.empty()) sentence = later.sentence;
  }
};

// Returns the first sentence that violation_of(i) returns for an i below `count`, or an empty
// string. Several threads call violation_of at once.
template <class ViolationOf>
std::string first_violation(size_t count, const ViolationOf& violation_of) {
  const auto look = [&](uint32_t part, uint32_t parts, Violation* found) {
    const size_t end = count * (part + 1) / parts;
    for (size_t i = count * part / parts; i < end && found->sentence.empty(); ++i) {
      found->sentence = violation_of(i);
    }
  };
  return sum_of_parts(Violation{}, look, count).sentence;
}

}  // namespace logjam
