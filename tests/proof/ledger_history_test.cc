// The entries and the graph that a checker makes of a history file, and the files that it refuses.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "platform/fatal.h"
#include "proof/ledger/history.h"
#include "proof/ledger/versions.h"
#include "tests/proof/ledger_world.h"
#include "tests/temporary_directory.h"

namespace logjam::ledger {
namespace {

TEST(History, ARetractedEntryIsOverwritten) {
  World world;
  Attempt attempt;
  attempt.clear(world.id(0));
  attempt.reads = {{1, 0}, {2, 0}, {3, 0}, {4, 0}};
  attempt.writes = {{1, 0}, {2, 0}};
  HistoryArea& area = world.history().area(0);
  intend(area, attempt);
  EXPECT_EQ(open_history(world.path()).transactions.size(), 1u);
  area.retract();
  EXPECT_EQ(open_history(world.path()).transactions.size(), 0u);
  attempt.clear(world.id(0));
  attempt.reads = {{7, 0}};
  intend(area, attempt);
  const History history = open_history(world.path());
  ASSERT_EQ(history.error, "");
  ASSERT_EQ(history.transactions.size(), 1u);
  EXPECT_EQ(history.transactions[0].id, make_id(0, 2));
  EXPECT_EQ(history.transactions[0].reads.size(), 1u);
}

TEST(History, AcknowledgementsMayComeOutOfOrder) {
  World world;
  const TransactionId a = world.run(0, {}, {1}, kThere), b = world.run(0, {}, {1}, kThere);
  world.history().area(0).acknowledge(b);
  EXPECT_FALSE(open_history(world.path()).transactions[0].acknowledged);
  EXPECT_TRUE(open_history(world.path()).transactions[1].acknowledged);
  world.history().area(0).acknowledge(a);
  EXPECT_TRUE(open_history(world.path()).transactions[0].acknowledged);
}

TEST(HistoryDeathTest, AcknowledgingWithoutCommitEndsTheProcess) {
  World world;
  EXPECT_EXIT(world.history().area(0).acknowledge(make_id(0, 3)),
              testing::ExitedWithCode(platform::kExitViolation),
              "transaction 0:3 was acknowledged without having committed");
}

TEST(History, AFullAreaReportsThatItIsFull) {
  World world;
  HistoryArea& area = world.history().area(0);
  uint64_t recorded = 0;
  for (; !full_for_accesses(area, 2); ++recorded) world.run(0, {1}, {1});
  EXPECT_GT(recorded, 500u);
  EXPECT_TRUE(world.check().passed) << world.check().violation;
  EXPECT_EQ(world.check().recorded, recorded);
}

class HistoryGarbage : public testing::Test {
 protected:
  const TemporaryDirectory directory_;
  const std::string path_ = directory_.path_of("history");
  void put(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }
  std::string error() {
    const std::string prefix = "cannot use the history " + path_ + ": ";
    const std::string error = open_history(path_).error;
    EXPECT_EQ(error.substr(0, prefix.size()), prefix);
    return error.substr(std::min(prefix.size(), error.size()));
  }
};

TEST_F(HistoryGarbage, IsRefusedInOneSentence) {
  EXPECT_EQ(error(), "No such file or directory");
  put("");
  EXPECT_EQ(error(), "too short to be one (0 bytes)");
  put(std::string(5000, 'x'));
  EXPECT_EQ(error(), "not a logjam history");
}

// A changed byte gives an error or another history, and never a crash.
TEST_F(HistoryGarbage, FlippedBytesNeverCrashTheReader) {
  World world;
  for (int i = 0; i < 3; ++i) world.run(0, {1, 2}, {3});
  std::string good(kHistoryHeaderBytes + 1024, '\0');
  std::ifstream(world.path(), std::ios::binary)
      .read(good.data(), static_cast<std::streamsize>(good.size()));
  std::filesystem::copy_file(world.path(), path_);
  std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
  for (size_t at = 0; at < good.size(); ++at) {
    for (const char flipped : {'\xff', '\x01'}) {
      file.seekp(static_cast<std::streamoff>(at));
      file.put(static_cast<char>(good[at] ^ flipped)).flush();
      const History history = open_history(path_);
      if (history.error.empty()) {
        EXPECT_LE(history.transactions.size(), 4u);
        check(world.rows(), history);
      }
    }
    file.seekp(static_cast<std::streamoff>(at));
    file.put(good[at]);
  }
  file.flush();
  EXPECT_EQ(open_history(path_).transactions.size(), 3u);
}

TEST(Precedence, FindsAShortCycle) {
  EXPECT_TRUE(find_cycle(0, {}).empty());
  EXPECT_TRUE(find_cycle(4, {{0, 1}, {1, 2}, {0, 2}, {2, 3}}).empty());
  EXPECT_EQ(find_cycle(6, {{0, 1}, {1, 2}, {2, 3}, {3, 2}, {3, 4}, {4, 5}}).size(), 2u);
  std::vector<Edge> ring;
  for (uint32_t i = 0; i < 100'000; ++i) ring.emplace_back(i, (i + 1) % 100'000);
  EXPECT_EQ(find_cycle(100'000, ring).size(), 100'000u);
  ring.emplace_back(50, 48);
  EXPECT_EQ(find_cycle(100'000, ring).front() < 100'000, true);
}

}  // namespace
}  // namespace logjam::ledger
