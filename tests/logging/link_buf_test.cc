// InnoDB's links: records that are longer than the window. eleda_test.cc has the tests that all
// trackers share.
#include "logging/schemes/innodb/link_buf.h"

#include <gtest/gtest.h>

#include <random>

namespace logjam {
namespace {

constexpr uint64_t kWindow = 256;

struct Record {
  uint64_t begin, end;
};

// Returns the tail after all links from it on were followed.
uint64_t look(LinkBuf& links) { return links.advance(0, 0); }

// Records of any length, also of one window, several, or more, fill the log for many laps. Those
// that begin in the same window are published in random order.
TEST(LinkBuf, EntriesAreUsedAgain) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    LinkBuf links(kWindow);
    for (uint64_t end = 0; end < 200 * kWindow;) {
      std::vector<Record> open;
      for (const uint64_t limit = end + kWindow; end < limit;) {
        const uint64_t bytes =
            random() % 8 == 0 ? kWindow * (1 + random() % 3) : 8 * (1 + random() % 64);
        open.push_back({end, end + bytes});
        end += bytes;
      }
      std::shuffle(open.begin(), open.end(), random);
      while (!open.empty()) {
        links.publish(0, open.back().begin, open.back().end);
        open.pop_back();
        uint64_t first_hole = end;
        for (const Record& one : open) first_hole = std::min(first_hole, one.begin);
        ASSERT_EQ(look(links), first_hole);
      }
    }
  }
}

}  // namespace
}  // namespace logjam
