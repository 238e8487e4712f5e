#include "sim/machine/tag_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <random>
#include <vector>

namespace logjam::sim {
namespace {

constexpr uint32_t kSets = 4, kWays = 3;
constexpr uint64_t kBytes = kSets * kWays * kLineBytes;

// A simple TagStore to compare with: each set has a list of lines, the most recent one first.
class Reference {
 public:
  explicit Reference(uint32_t ways) : ways_(ways) {}
  bool touch(uint32_t line, bool write) {
    auto& set = sets_[line % kSets];
    const auto found = find(line);
    if (found == set.end() || (write && !found->writable)) return false;
    set.splice(set.begin(), set, found);
    return true;
  }
  uint32_t insert(uint32_t line, bool writable) {
    auto& set = sets_[line % kSets];
    remove(line);
    set.push_front({line, writable});
    if (set.size() <= ways_) return kNoLine;
    const uint32_t left = set.back().line;
    set.pop_back();
    return left;
  }
  void remove(uint32_t line) {
    const auto found = find(line);
    if (found != sets_[line % kSets].end()) sets_[line % kSets].erase(found);
  }
  void make_read_only(uint32_t line) {
    const auto found = find(line);
    if (found != sets_[line % kSets].end()) found->writable = false;
  }

 private:
  struct Tag {
    uint32_t line;
    bool writable;
  };
  std::list<Tag>::iterator find(uint32_t line) {
    auto& set = sets_[line % kSets];
    return std::find_if(set.begin(), set.end(), [&](const Tag& tag) { return tag.line == line; });
  }

  const uint32_t ways_;
  std::list<Tag> sets_[kSets];
};

TEST(TagStore, TheLeastRecentlyUsedLineLeaves) {
  TagStore store(kBytes, kWays);
  EXPECT_EQ(store.insert(0, false), kNoLine);
  EXPECT_EQ(store.insert(4, false), kNoLine);
  EXPECT_EQ(store.insert(8, false), kNoLine);
  EXPECT_TRUE(store.touch(0, false));
  EXPECT_EQ(store.oldest(12), 4U);
  EXPECT_EQ(store.insert(12, false), 4U);
  EXPECT_GE(store.oldest(1), kLines);
  EXPECT_EQ(store.insert(1, false), kNoLine) << "another set has room";
  EXPECT_EQ(store.insert(16, false), 8U);
  EXPECT_EQ(store.insert(20, false), 0U);
}

TEST(TagStore, AStoreNeedsAWritableLine) {
  TagStore store(kBytes, kWays);
  store.insert(3, false);
  EXPECT_TRUE(store.touch(3, false));
  EXPECT_FALSE(store.touch(3, true));
  store.insert(3, true);
  EXPECT_TRUE(store.touch(3, true));
  store.make_read_only(3);
  EXPECT_TRUE(store.touch(3, false));
  EXPECT_FALSE(store.touch(3, true));
}

// Eight tags and more are compared and moved at once on the host.
class TagStoreOfWays : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(, TagStoreOfWays, testing::Values(1, 3, 7, 8, 9, 12, 16, 20, 64));

TEST_P(TagStoreOfWays, DoesWhatASimpleModelDoes) {
  const uint32_t ways = GetParam();
  TagStore store(kSets * ways * kLineBytes, ways);
  Reference reference(ways);
  std::mt19937 random(7);
  for (int step = 0; step < 50'000; ++step) {
    // Half of the lines have the highest numbers that a line can have.
    const uint32_t number = random() % (8 * ways);
    const uint32_t line = random() % 2 == 0 ? number : kLines - 1 - number;
    const bool write = random() % 2 == 0;
    switch (random() % 16) {
      case 0:
        store.remove(line);
        reference.remove(line);
        break;
      case 1:
        store.make_read_only(line);
        reference.make_read_only(line);
        break;
      case 2:
      case 3:
      case 4:
      case 5:
      case 6:
      case 7:
      case 8:
        ASSERT_EQ(store.insert(line, write), reference.insert(line, write)) << "step " << step;
        break;
      default:
        ASSERT_EQ(store.touch(line, write), reference.touch(line, write)) << "step " << step;
    }
  }
}

// If a line were in the store twice, it would still be found after the first copy has left.
TEST(TagStore, ALineThatIsPutInTwiceIsThereOnce) {
  TagStore store(kBytes, kWays);
  for (const uint32_t line : {0U, 4U, 8U, 0U, 8U, 4U, 4U}) store.insert(line, line == 4);
  store.remove(4);
  EXPECT_FALSE(store.touch(4, false));
  EXPECT_TRUE(store.touch(0, false));
  EXPECT_TRUE(store.touch(8, false));
  EXPECT_EQ(store.insert(12, false), kNoLine) << "the place of line 4 is free";
}

TEST(TagStore, ACacheOfNoBytesHoldsNothing) {
  TagStore store(0, kWays);
  EXPECT_TRUE(store.holds_nothing());
  store.remove(0);
  store.make_read_only(0);
}

}  // namespace
}  // namespace logjam::sim
