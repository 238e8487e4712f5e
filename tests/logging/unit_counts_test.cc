#include "logging/schemes/common/unit_counts.h"

#include <gtest/gtest.h>

namespace logjam {
namespace {

constexpr uint64_t kUnit = 4096;

// The sequencer's position. Right after a load of the position it calls `meanwhile`, which plays
// another worker that runs between this load and the next load of the same thread.
struct Sequencer {
  uint64_t load(auto) const {
    const uint64_t seen = position;
    if (meanwhile) meanwhile();
    return seen;
  }
  uint64_t position = 0;
  std::function<void()> meanwhile;
};

// One worker holds the hole of the first 64 bytes. While the watermark is advanced, another worker
// reserves as many bytes after the hole and fills them. If the position were loaded first, the
// filled bytes would be taken for the hole.
TEST(UnitCounts, ARecordThatIsFilledMeanwhileDoesNotStandForAHoleBeforeIt) {
  const Ring ring(uint64_t{1} << 16, 512);
  UnitCounts counts(2, ring, kUnit);
  Sequencer allocated{.position = 64, .meanwhile = {}};
  bool filled = false;
  allocated.meanwhile = [&] {
    if (filled) return;
    filled = true;
    allocated.position = 128;
    counts.publish(1, 64, 128);
  };
  EXPECT_EQ(counts.advance(0, allocated), 0u);
  EXPECT_TRUE(filled);
  EXPECT_EQ(counts.advance(0, allocated), 0u);
  counts.publish(0, 0, 64);
  EXPECT_EQ(counts.advance(0, allocated), 128u);
}

}  // namespace
}  // namespace logjam
