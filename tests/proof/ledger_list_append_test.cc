// The exact exported text of histories whose transactions end in each possible way.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "platform/fatal.h"
#include "tests/proof/ledger_world.h"
#include "tests/temporary_directory.h"

namespace logjam::ledger {
namespace {

class ListAppend : public testing::Test {
 protected:
  const TemporaryDirectory directory_;
  const std::string path_ = directory_.path_of("history.edn");

  // Returns the lines of the exported history, without the text before the type.
  std::vector<std::string> exported(World& world) {
    EXPECT_EQ(export_list_append(world.rows(), open_history(world.path()), path_), "");
    std::ifstream in(path_);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) {
      const std::string index = "{:index " + std::to_string(lines.size()) + ", :type ";
      EXPECT_EQ(line.substr(0, index.size()), index);
      lines.push_back(line.substr(index.size()));
    }
    return lines;
  }

  static std::string unread() {
    std::string text;
    for (Key key = 0; key < kKeys + kCells; ++key) text += "[:r " + std::to_string(key) + " nil]";
    return text;
  }
};

TEST_F(ListAppend, AVersionIsTheListOfItsWriters) {
  World world;
  world.run(0, {}, {1});
  world.run(0, {3}, {1, 2});
  world.run(1, {1, 2, 3}, {});
  const std::vector<std::string> expected = {
      ":invoke, :process 0, :f :txn, :value [[:r 1 nil][:append 1 0][:r 1 nil]]}",
      ":invoke, :process 1, :f :txn, :value [[:r 3 nil][:r 1 nil][:append 1 1][:r 1 nil]"
      "[:r 2 nil][:append 2 1][:r 2 nil]]}",
      ":invoke, :process 2, :f :txn, :value [[:r 1 nil][:r 2 nil][:r 3 nil]]}",
      ":ok, :process 0, :f :txn, :value [[:r 1 []][:append 1 0][:r 1 [0]]]}",
      ":ok, :process 1, :f :txn, :value [[:r 3 []][:r 1 [0]][:append 1 1][:r 1 [0 1]]"
      "[:r 2 []][:append 2 1][:r 2 [1]]]}",
      ":ok, :process 2, :f :txn, :value [[:r 1 [0 1]][:r 2 [1]][:r 3 []]]}",
      ":invoke, :process 3, :f :txn, :value [" + unread() + "]}",
      ":ok, :process 3, :f :txn, :value [[:r 0 []][:r 1 [0 1]][:r 2 [1]][:r 3 []][:r 4 []]"
      "[:r 5 []][:r 6 []][:r 7 []][:r 8 []][:r 9 []][:r 10 []][:r 11 []][:r 12 []][:r 13 []]]}",
  };
  EXPECT_EQ(exported(world), expected);
}

// Returns how transaction `index` of `count` ended, from the transaction's line in `lines`.
std::string end_of(const std::vector<std::string>& lines, size_t index, size_t count) {
  return lines.at(count + index).substr(0, lines.at(count + index).find(','));
}

TEST_F(ListAppend, WhatWasRecoveredOrAcknowledgedHasHappened) {
  World world;
  world.run(0, {}, {1}, kAcknowledged);
  world.run(0, {}, {1}, kThere);
  world.run(1, {}, {2}, kLost);
  world.run(2, {1}, {}, kAcknowledged);
  world.run(2, {1}, {}, kLost);
  const auto lines = exported(world);
  const std::vector<std::string> ends = {":ok", ":ok", ":fail", ":ok", ":fail"};
  for (size_t i = 0; i < ends.size(); ++i) EXPECT_EQ(end_of(lines, i, ends.size()), ends[i]) << i;
}

// An acknowledged transaction is exported as :ok, even if it is not in the database. The last
// exported read lacks this transaction's write, and a checker finds the anomaly.
TEST_F(ListAppend, ALostAcknowledgementShowsInTheLastRead) {
  World world;
  world.run(0, {}, {1}, kAcknowledged);
  world.make(1, {}, {{1, make_id(0, 1)}}, kAcknowledged);
  const auto lines = exported(world);
  EXPECT_EQ(lines.at(3), ":ok, :process 1, :f :txn, :value [[:r 1 [0]][:append 1 1][:r 1 [0 1]]]}");
  EXPECT_NE(lines.at(5).find("[:r 1 [0]]"), std::string::npos) << lines.at(5);
}

TEST_F(ListAppend, AnUnsafeAcknowledgementProvesNothing) {
  World world("--commit=async");
  world.run(0, {}, {1}, kAcknowledged);
  world.run(0, {}, {2}, kLost);
  world.make(1, {{1, 0}}, {{3, 0}}, kAcknowledged);
  auto lines = exported(world);
  EXPECT_EQ(end_of(lines, 0, 3), ":ok");
  EXPECT_EQ(end_of(lines, 1, 3), ":info");
  EXPECT_EQ(lines.at(5),
            ":info, :process 2, :f :txn, :value [[:r 1 nil][:r 3 nil][:append 3 2][:r 3 nil]]}");
  world.history().record_end();  // the run ended by itself, so every commit is durable
  lines = exported(world);
  EXPECT_EQ(end_of(lines, 1, 3), ":fail");
  EXPECT_EQ(end_of(lines, 2, 3), ":ok");
}

// A blindly overwritten write is in the list only if its transaction certainly happened. Here, the
// lost transaction was not acknowledged, and no row shows it, so it counts as not having happened.
TEST_F(ListAppend, ABlindWriteIsAnAppendWithoutReads) {
  World world;
  world.change(0, {}, {{Op::kBlind, 4}, {Op::kInsert, 1}});
  const TransactionId lost = world.make(
      1, {}, {{cell_key(4), make_id(0, 1), Op::kBlind}, {cell_key(5), 0, Op::kBlind}}, kLost);
  const TransactionId last = world.make(2, {}, {{cell_key(4), lost, Op::kBlind}}, kThere);
  world.apply(Op::kBlind, 4, last);
  const auto lines = exported(world);
  EXPECT_EQ(lines.at(3), ":ok, :process 0, :f :txn, :value [[:append 12 0][:append 9 0]]}");
  EXPECT_EQ(end_of(lines, 1, 3), ":fail");
  EXPECT_EQ(lines.at(5), ":ok, :process 2, :f :txn, :value [[:append 12 2]]}");
  EXPECT_NE(lines.back().find("[:r 9 [0]]"), std::string::npos) << lines.back();
  EXPECT_NE(lines.back().find("[:r 12 [0 2]]"), std::string::npos) << lines.back();
}

// An acknowledged update has read a blind write whose transaction was not acknowledged. Another
// blind write then overwrites the update. No row shows the first blind write, but it has happened.
TEST_F(ListAppend, WhatAnAcknowledgedTransactionHasReadFromHasHappened) {
  World world;
  world.change(0, {}, {{Op::kBlind, 4}}, kThere);
  world.change(1, {}, {{Op::kUpdate, 4}}, kAcknowledged);
  world.change(2, {}, {{Op::kBlind, 4}}, kThere);
  const auto lines = exported(world);
  EXPECT_EQ(end_of(lines, 0, 3), ":ok");
  EXPECT_EQ(lines.at(4),
            ":ok, :process 1, :f :txn, :value [[:r 12 [0]][:append 12 1][:r 12 [0 1]]]}");
  EXPECT_NE(lines.back().find("[:r 12 [0 1 2]]"), std::string::npos) << lines.back();
}

// If no transaction of the history wrote a row, the row's list has a number that no transaction
// appends.
TEST_F(ListAppend, AWriterThatTheHistoryDoesNotKnowGetsANumberOfItsOwn) {
  World world;
  world.make(0, {{1, make_id(2, 77)}, {2, make_id(2, 78)}, {1, make_id(2, 77)}}, {});
  EXPECT_EQ(exported(world).at(1),
            ":ok, :process 0, :f :txn, :value [[:r 1 [1]][:r 2 [2]][:r 1 [1]]]}");
}

TEST_F(ListAppend, WritesInACircleAreRefused) {
  World world;
  const TransactionId a = world.id(0), b = world.id(0);
  world.record(a, {}, {{1, b}});
  world.record(b, {}, {{1, a}});
  EXPECT_EQ(export_list_append(world.rows(), open_history(world.path()), path_),
            "the history cannot be exported: the writes of ledger key 1 overwrite each other in a "
            "circle");
  History broken;
  broken.error = "cannot use the history";
  EXPECT_EQ(export_list_append(world.rows(), broken, path_), "cannot use the history");
}

TEST(ListAppendDeathTest, AFullDiskEndsTheProcess) {
  World world;
  world.run(0, {}, {1});
  EXPECT_EXIT(export_list_append(world.rows(), open_history(world.path()), "/dev/full"),
              testing::ExitedWithCode(platform::kExitFailed),
              "cannot write /dev/full: No space left on device");
}

}  // namespace
}  // namespace logjam::ledger
