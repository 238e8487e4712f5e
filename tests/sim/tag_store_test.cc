#include "sim/machine/tag_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <random>
#include <vector>

namespace logjam::sim {
namespace {

constexpr uint32_t kSets = 4;

// A simple model of TagStore. For each set it has a list of lines, with the most recent line first.
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

// If a set has eight ways or more, TagStore compares and moves several tags with one instruction.
class TagStoreOfWays : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(, TagStoreOfWays, testing::Values(1, 3, 7, 8, 9, 12, 16, 20, 64));

TEST_P(TagStoreOfWays, DoesWhatASimpleModelDoes) {
  const uint32_t ways = GetParam();
  TagStore store(kSets * ways * kLineBytes, ways);
  Reference reference(ways);
  std::mt19937 random(7);
  for (int step = 0; step < 50'000; ++step) {
    // Half of the lines get the highest possible line numbers.
    const uint32_t number = random() % (8 * ways);
    const uint32_t line = random() % 2 == 0 ? number : kLines - 1 - number;
    const bool write = random() % 2 == 0;
    const uint32_t action = random() % 16;
    if (action == 0) {
      store.remove(line);
      reference.remove(line);
    } else if (action == 1) {
      store.make_read_only(line);
      reference.make_read_only(line);
    } else if (action <= 8) {
      ASSERT_EQ(store.insert(line, write), reference.insert(line, write)) << "step " << step;
    } else {
      ASSERT_EQ(store.touch(line, write), reference.touch(line, write)) << "step " << step;
    }
  }
}

TEST(TagStore, ACacheOfNoBytesHoldsNothing) {
  TagStore store(0, 3);
  EXPECT_TRUE(store.holds_nothing());
  store.remove(0);
  store.make_read_only(0);
}

}  // namespace
}  // namespace logjam::sim
