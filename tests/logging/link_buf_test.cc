// InnoDB's links: small windows, records that are longer than the window, and workers that wait for
// it. The tests that all trackers share are in eleda_test.cc.
#include "logging/schemes/innodb/link_buf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "logging/scheme_registry.h"
#include "tests/logging/watchdog.h"
#include "tests/scoped_flags.h"

namespace logjam {
namespace {

constexpr uint64_t kWindow = 256;

struct Record {
  uint64_t begin, end;
};

// Returns the tail after all links from it on were followed.
uint64_t look(LinkBuf& links) { return links.advance(0, 0); }

TEST(LinkBuf, AHoleKeepsTheTailBackUntilItIsFilled) {
  LinkBuf links(kWindow);
  links.publish(0, 64, 128);
  links.publish(0, 128, 192);
  EXPECT_EQ(look(links), 0u);
  links.publish(0, 0, 64);
  EXPECT_EQ(look(links), 192u) << "the next links were not followed";
}

TEST(LinkBuf, TheWorkerThatFillsAHoleFollowsNoLinkBeyondItsRecord) {
  LinkBuf links(kWindow);
  links.publish(0, 64, 128);
  links.publish(0, 0, 64);
  links.publish(0, 128, 192);
  EXPECT_EQ(look(links), 192u);
}

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

TEST(LinkBuf, AWorkerWaitsUntilItsRecordIsInTheWindow) {
  const Watchdog watchdog("a worker waits although its record is in the window");
  LinkBuf links(kWindow);
  std::atomic<bool> linked{false};
  links.publish(0, 64, kWindow);
  std::thread waits([&] {
    links.publish(1, kWindow, kWindow + 64);
    linked = true;
  });
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(look(links), 0u) << "passed a hole";
    ASSERT_FALSE(linked) << "two records have one entry";
    std::this_thread::yield();
  }
  links.publish(0, 0, 64);
  waits.join();
  EXPECT_EQ(look(links), kWindow + 64);
}

TEST(Innodb, AWindowThatIsNoPowerOfTwoIsRefused) {
  ScopedFlags flags;
  flags.set("test", "innodb_window:100");
  EXPECT_EQ(find_scheme("innodb")->check_flags(),
            "--test=innodb_window=100 is not a power of two from 64 to 1073741824");
  flags.set("test", "");
  EXPECT_EQ(find_scheme("innodb")->check_flags(), "");
}

}  // namespace
}  // namespace logjam
