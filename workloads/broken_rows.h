// Rows that Workload::verify() finds broken.
#pragma once

#include <cstdint>
#include <string>

namespace logjam {

// Counts broken rows, and describes the first.
struct BrokenRows {
  uint64_t count = 0;
  std::string first;

  // Counts one more broken row. Calls what() for its description only if it is the first.
  template <class What>
  void note(const What& what) {
    if (count++ == 0) first = what();
  }
  // Adds the rows of the part that follows this one.
  void add(const BrokenRows& later) {
    if (count == 0) first = later.first;
    count += later.count;
  }
};

}  // namespace logjam
