#include "platform/cache_lines.h"

#include <gtest/gtest.h>

#include <set>

namespace logjam {
namespace {

using platform::kShortestLine;

TEST(CacheLines, EachTouchedLineOnceAndNoOther) {
  for (uintptr_t begin = 5 * kShortestLine; begin <= 6 * kShortestLine; ++begin) {
    std::set<uintptr_t> touched;
    for (size_t bytes = 0; bytes <= 4 * kShortestLine; ++bytes) {
      if (bytes > 0) touched.insert((begin + bytes - 1) / kShortestLine * kShortestLine);
      const auto lines = platform::cache_lines_of(reinterpret_cast<const void*>(begin), bytes);
      std::set<uintptr_t> found;
      for (const auto& line : lines) found.insert(reinterpret_cast<uintptr_t>(&line));
      ASSERT_EQ(found, touched) << bytes << " bytes from " << begin;
      ASSERT_EQ(lines.size(), touched.size());
    }
  }
}

}  // namespace
}  // namespace logjam
