#include "logging/schemes/common/segment_index.h"

#include <gtest/gtest.h>

namespace logjam {
namespace {

TEST(SegmentIndex, ASegmentIsPassableWhenItIsClosedAndFilled) {
  SegmentIndex index(4);
  const auto advance = [&] {
    uint64_t last = 0;
    index.advance([&](uint64_t end, uint64_t) { last = end; });
    return last;
  };
  EXPECT_FALSE(index.passable()) << "none is closed";
  index.filled(index.open(), 60);
  EXPECT_FALSE(index.passable()) << "the first one is open";
  const uint32_t first = index.open();
  index.close(100, 100, 7);
  EXPECT_FALSE(index.passable()) << "it has a hole";
  EXPECT_EQ(advance(), 0U);
  index.filled(index.open(), 30);
  index.close(30, 130, 8);
  EXPECT_FALSE(index.passable()) << "the second one is filled, the first one is not";
  index.filled(first, 40);
  EXPECT_TRUE(index.passable());
  EXPECT_EQ(advance(), 130U);
  EXPECT_FALSE(index.passable()) << "both are passed";
}

}  // namespace
}  // namespace logjam
