// Hand-made histories with one violation each: the checker must find it and say what it is.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>

#include "platform/fatal.h"
#include "workloads/ledger/checker.h"
#include "workloads/ledger/precedence.h"

namespace logjam::ledger {
namespace {

constexpr uint64_t kKeys = 8;

enum Fate { kLost, kThere, kAcknowledged };  // each includes the one before

// A tiny database without concurrency, and the history that it writes about itself.
class World {
 public:
  explicit World(const std::string& unsafe = "")
      : path_(std::filesystem::temp_directory_path() /
              ("logjam-checker-" + std::to_string(getpid()))),
        writer_(path_, 3, 3 * 65536, {kKeys, unsafe, "by hand"}) {
    for (Key key = 0; key < kKeys; ++key) {
      rows_.ledger.emplace_back(key, LedgerRow{}).second.seal(key);
    }
  }
  ~World() { std::filesystem::remove(path_); }

  LedgerRow& row(Key key) { return rows_.ledger[key].second; }
  LedgerRows& rows() { return rows_; }
  TransactionId id(uint32_t worker) { return make_id(worker, ++counts_[worker]); }
  HistoryWriter& history() { return writer_; }
  const std::string& path() const { return path_; }

  void write(Key key, TransactionId writer) {
    row(key).overwritten = row(key).writer;
    row(key).writer = writer;
    row(key).seal(key);
  }

  void record(const Attempt& attempt, Fate fate) {
    HistoryArea& area = writer_.area(worker_of(attempt.id));
    area.intend(attempt);
    if (fate == kAcknowledged) area.acknowledge(attempt.id);
  }

  // Reads and overwrites what is there now.
  TransactionId run(uint32_t worker, std::initializer_list<Key> reads,
                    std::initializer_list<Key> writes, Fate fate = kAcknowledged) {
    Attempt attempt;
    attempt.clear(id(worker));
    for (const Key key : reads) attempt.reads.push_back({key, row(key).writer});
    for (const Key key : writes) {
      attempt.writes.push_back({key, row(key).writer});
      if (fate != kLost) write(key, attempt.id);
    }
    record(attempt, fate);
    return attempt.id;
  }

  // The same with everything given.
  void record(TransactionId id, std::vector<Access> reads, std::vector<Access> writes,
              Fate fate = kAcknowledged) {
    Attempt attempt;
    attempt.clear(id);
    attempt.reads = std::move(reads);
    attempt.writes = std::move(writes);
    record(attempt, fate);
  }

  void toggle(Key key, TransactionId id) {
    LedgerRow& now = row(key);
    record(id, {}, {{key, now.writer}});
    now.toggler = id;
    now.present ^= 1;
    write(key, id);
    if (now.present == 0) {
      std::erase_if(rows_.entries, [&](const auto& e) { return ledger_key_of(e.first) == key; });
      return;
    }
    EntryRow entry{id, key, 0};
    entry.seal();
    rows_.entries.emplace_back(entry_key(key, now.generation), entry);
  }

  CheckResult check() { return ledger::check(rows_, open_history(path_)); }

  void expect(const std::string& sentence) {
    const CheckResult result = check();
    EXPECT_FALSE(result.passed);
    EXPECT_EQ(result.violation, sentence);
  }

 private:
  std::string path_;
  HistoryWriter writer_;
  LedgerRows rows_;
  uint64_t counts_[3] = {};
};

TEST(LedgerChecker, GoodHistoryPasses) {
  World world;
  world.run(0, {1, 2}, {1, 3});
  world.run(1, {1}, {3});
  world.run(2, {3, 1}, {});
  world.run(0, {}, {1, 2}, kThere);
  world.run(1, {2}, {4}, kThere);
  world.run(2, {4}, {1}, kLost);
  world.run(2, {7}, {}, kLost);
  world.toggle(5, world.id(0));
  world.toggle(6, world.id(1));
  world.toggle(6, world.id(2));
  const CheckResult result = world.check();
  EXPECT_TRUE(result.passed) << result.violation;
  EXPECT_EQ(result.recorded, 10u);
  EXPECT_EQ(result.acknowledged, 6u);
  EXPECT_EQ(result.recovered, 7u);
  EXPECT_GT(result.edges, 5u);
}

TEST(LedgerChecker, EmptyHistoryPasses) { EXPECT_TRUE(World().check().passed); }

TEST(LedgerChecker, LostAcknowledgedTransaction) {
  World world;
  world.run(0, {}, {3});
  const TransactionId lost = world.id(1);
  world.record(lost, {}, {{3, make_id(0, 1)}});
  world.expect(
      "R1: 1:1 was acknowledged and is lost: its write of ledger key 3 over 0:1 is not there, 0:1 "
      "wrote last");
}

TEST(LedgerChecker, UnsafeRunMayLose) {
  World world("--commit=async");
  world.run(0, {}, {3});
  world.record(world.id(1), {}, {{3, make_id(0, 1)}});
  world.record(world.id(2), {{3, make_id(1, 1)}}, {});
  EXPECT_TRUE(world.check().passed) << world.check().violation;
  EXPECT_NE(world.check().summary().find("UNSAFE (--commit=async)"), std::string::npos);
  world.history().mark_finished();  // but not if it ended by itself
  EXPECT_FALSE(world.check().passed);
}

TEST(LedgerChecker, AcknowledgedReaderOfTheLost) {
  World world;
  const TransactionId lost = world.run(0, {}, {3}, kLost);
  world.record(world.id(1), {{3, lost}}, {});
  world.expect(
      "R1: 1:1 was acknowledged, but the write of ledger key 3 by 0:1 that it read is not");
}

TEST(LedgerChecker, TornTransaction) {
  World world;
  const TransactionId torn = world.id(0);
  world.record(torn, {}, {{1, 0}, {2, 0}}, kThere);
  world.write(1, torn);
  world.expect(
      "R2: 0:1 is torn: its write of ledger key 1 is there, its write of ledger key 2 over the "
      "initial load is not there, the initial load wrote last");
}

TEST(LedgerChecker, Fork) {
  World world;
  world.run(0, {}, {5});
  const TransactionId fork = world.id(1);
  world.record(fork, {}, {{4, 0}, {5, 0}});
  world.write(4, fork);
  world.expect(
      "R2: 1:1 is torn: its write of ledger key 4 is there, its write of ledger key 5 over the "
      "initial load is not there, 0:1 overwrote the same (fork)");
}

TEST(LedgerChecker, LostUpdate) {
  World world;
  world.run(0, {}, {5});
  world.record(world.id(1), {}, {{5, 0}});
  world.expect(
      "R1: 1:1 was acknowledged and is lost: its write of ledger key 5 over the initial load is "
      "not there, 0:1 overwrote the same (fork)");
}

TEST(LedgerChecker, MissingDependency) {
  World world;
  const TransactionId lost = world.run(0, {}, {3}, kLost);
  const TransactionId reader = world.id(1);
  world.record(reader, {{3, lost}}, {{4, 0}}, kThere);
  world.write(4, reader);
  world.expect("R4: 1:1 is there, but the write of ledger key 3 by 0:1 that it read is not");
}

TEST(LedgerChecker, ReaderOfAnAbortedAttempt) {
  World world;
  const TransactionId reader = world.id(1);
  world.record(reader, {{3, make_id(0, 77)}}, {{4, 0}}, kThere);
  world.write(4, reader);
  world.expect("R4: 1:1 is there, but the write of ledger key 3 by 0:77 that it read is not");
}

TEST(LedgerChecker, UnknownWriter) {
  World world;
  world.write(2, make_id(1, 9));
  world.expect("R3: ledger key 2 was last written by 1:9, which the history does not know");
}

TEST(LedgerChecker, WriterOfAnotherKey) {
  World world;
  world.record(world.id(0), {}, {{1, 0}}, kThere);
  world.write(2, make_id(0, 1));
  world.expect("R3: ledger key 2 was last written by 0:1, which never wrote that key");
}

TEST(LedgerChecker, MissingLink) {
  World world;
  const TransactionId last = world.id(0);
  world.record(last, {}, {{1, make_id(2, 40)}});
  world.row(1).writer = make_id(2, 40);
  world.write(1, last);
  world.expect(
      "R3: in the chain of ledger key 1, 0:1 overwrote 2:40, which the history does not know");
}

// Replay applied an older write last.
TEST(LedgerChecker, OlderWriteOnTop) {
  World world;
  const TransactionId older = world.run(0, {}, {1});
  world.run(1, {}, {1});
  world.row(1).writer = older;
  world.row(1).overwritten = 0;
  world.row(1).seal(1);
  world.expect(
      "R1: 1:1 was acknowledged and is lost: its write of ledger key 1 over 0:1 is not there, 0:1 "
      "wrote last");
}

TEST(LedgerChecker, RowContradictsHistory) {
  World world;
  const TransactionId first = world.run(0, {}, {1});
  world.run(1, {}, {1});
  world.row(1).overwritten = 0;
  world.row(1).seal(1);
  world.expect(
      "R3: ledger key 1 says that 1:1 overwrote the initial load, but it recorded that it "
      "overwrote 0:1");
  EXPECT_EQ(show(first), "0:1");
}

TEST(LedgerChecker, Loop) {
  World world;
  const TransactionId a = world.id(0), b = world.id(1);
  world.record(a, {}, {{1, b}});
  world.record(b, {}, {{1, a}});
  world.row(1).writer = b;
  world.write(1, a);
  world.expect(
      "R3: in the chain of ledger key 1, 1:1 overwrote 0:1, which is in that chain already: a "
      "loop");
}

TEST(LedgerChecker, TornRow) {
  World world;
  world.run(0, {}, {1});
  world.row(1).filler[5] ^= 1;
  world.expect("R2: the row of ledger key 1, by 0:1, is torn");
}

TEST(LedgerChecker, MissingRow) {
  World world;
  world.rows().ledger.pop_back();
  world.expect("R1: the ledger has 7 rows instead of 8");
}

// Both read both, each writes one: neither can be first.
TEST(LedgerChecker, WriteSkew) {
  World world;
  const TransactionId a = world.id(0), b = world.id(1);
  world.record(a, {{1, 0}, {2, 0}}, {{1, 0}});
  world.record(b, {{1, 0}, {2, 0}}, {{2, 0}}, kThere);
  world.write(1, a);
  world.write(2, b);
  world.expect(
      "not serializable: a cycle of 2 transactions: 0:1 overwrote what 1:1 had read at ledger key "
      "1, 1:1 overwrote what 0:1 had read at ledger key 2");
}

// A read-only transaction sees the second of two transactions and not the first.
TEST(LedgerChecker, ReadOnlyAnomaly) {
  World world;
  const TransactionId first = world.run(0, {}, {1});
  const TransactionId second = world.run(1, {1}, {2});
  world.record(world.id(2), {{1, 0}, {2, second}}, {});
  const CheckResult result = world.check();
  EXPECT_EQ(result.violation.find("not serializable: a cycle of 3 transactions: "), 0u)
      << result.violation;
  for (const char* part : {"1:1 read 0:1 at ledger key 1", "2:1 read 1:1 at ledger key 2",
                           "0:1 overwrote what 2:1 had read at ledger key 1"}) {
    EXPECT_NE(result.violation.find(part), std::string::npos) << result.violation;
  }
  EXPECT_EQ(show(first), "0:1");
}

// The same reader, not acknowledged: nobody was told.
TEST(LedgerChecker, UnacknowledgedReaderDoesNotCount) {
  World world;
  world.run(0, {}, {1});
  const TransactionId second = world.run(1, {1}, {2});
  world.record(world.id(2), {{1, 0}, {2, second}}, {}, kLost);
  EXPECT_TRUE(world.check().passed) << world.check().violation;
}

TEST(LedgerChecker, UnrepeatableReadBeforeUpdate) {
  World world;
  world.run(0, {}, {1});
  const TransactionId stale = world.id(1);
  world.record(stale, {{1, 0}}, {{1, make_id(0, 1)}});
  world.write(1, stale);
  world.expect(
      "not serializable: a cycle of 2 transactions: 0:1 overwrote what 1:1 had read at ledger key "
      "1, 1:1 overwrote 0:1 at ledger key 1");
}

TEST(LedgerChecker, Phantom) {
  for (const Fate fate : {kLost, kAcknowledged}) {
    World world;
    Attempt audit;
    audit.clear(world.id(2));
    audit.reads = {{4, 0}};
    audit.complain(Mismatch::kUnexpected, 4);
    world.record(audit, fate);
    if (fate == kLost) {
      EXPECT_TRUE(world.check().passed);
    } else {
      world.expect(
          "not serializable: 2:1 committed having seen, at ledger key 4, an entry where the ledger "
          "row says there is none (phantom)");
    }
  }
}

TEST(LedgerChecker, EntriesDisagree) {
  const auto world_with_entry = [](World& world) {
    world.toggle(2, world.id(0));
    world.toggle(3, world.id(1));
    EXPECT_TRUE(world.check().passed) << world.check().violation;
  };
  {
    World world;
    world_with_entry(world);
    world.rows().entries.erase(world.rows().entries.begin());
    world.expect("R2: ledger key 2 (by 0:1, toggled by 0:1) should have an entry and has none");
  }
  {
    World world;
    world_with_entry(world);
    world.rows().entries[0].second.writer = make_id(2, 5);
    world.expect(
        "R2: ledger key 2 (by 0:1, toggled by 0:1) has an entry that it was not written with, by "
        "2:5");
  }
  {
    World world;
    world_with_entry(world);
    const auto entry = world.rows().entries[0].second;
    world.toggle(2, world.id(0));
    world.rows().entries.emplace(world.rows().entries.begin(), entry_key(2, 0), entry);
    world.expect(
        "R2: ledger key 2 (by 0:2, toggled by 0:2) should have no entry and has one, by 0:1");
  }
  {
    World world;
    world_with_entry(world);
    world.rows().entries.emplace_back(entry_key(kKeys, 0), EntryRow{});
    world.expect("R2: there is an entry for ledger key 8, which does not exist");
  }
}

TEST(LedgerChecker, CleanExitOwesEverything) {
  World world;
  world.run(0, {}, {1});
  world.run(1, {}, {1}, kThere);
  EXPECT_TRUE(world.check().passed);
  world.history().mark_finished();
  world.expect("the run ended by itself, yet 1:1 is there and was never acknowledged");
}

TEST(History, RetractedPlaceIsUsedAgain) {
  World world;
  Attempt attempt;
  attempt.clear(world.id(0));
  attempt.reads = {{1, 0}, {2, 0}, {3, 0}, {4, 0}};
  attempt.writes = {{1, 0}, {2, 0}};
  HistoryArea& area = world.history().area(0);
  area.intend(attempt);
  EXPECT_EQ(open_history(world.path()).transactions.size(), 1u);
  area.retract();
  EXPECT_EQ(open_history(world.path()).transactions.size(), 0u);
  attempt.clear(world.id(0));
  attempt.reads = {{7, 0}};
  area.intend(attempt);
  const History history = open_history(world.path());
  ASSERT_EQ(history.error, "");
  ASSERT_EQ(history.transactions.size(), 1u);
  EXPECT_EQ(history.transactions[0].id, make_id(0, 2));
  EXPECT_EQ(history.transactions[0].reads.size(), 1u);
}

TEST(History, AcknowledgedOutOfOrder) {
  World world;
  const TransactionId a = world.run(0, {}, {1}, kThere), b = world.run(0, {}, {1}, kThere);
  world.history().area(0).acknowledge(b);
  EXPECT_FALSE(open_history(world.path()).transactions[0].acknowledged);
  EXPECT_TRUE(open_history(world.path()).transactions[1].acknowledged);
  world.history().area(0).acknowledge(a);
  EXPECT_TRUE(open_history(world.path()).transactions[0].acknowledged);
}

TEST(HistoryDeathTest, AcknowledgedWithoutCommit) {
  World world;
  EXPECT_EXIT(world.history().area(0).acknowledge(make_id(0, 3)),
              testing::ExitedWithCode(platform::kExitViolation),
              "transaction 0:3 was acknowledged without having committed");
}

TEST(History, FullAreaSaysSo) {
  World world;
  HistoryArea& area = world.history().area(0);
  uint64_t recorded = 0;
  for (; !area.full_for(2); ++recorded) world.run(0, {1}, {1});
  EXPECT_GT(recorded, 500u);
  EXPECT_TRUE(world.check().passed) << world.check().violation;
  EXPECT_EQ(world.check().recorded, recorded);
}

class HistoryGarbage : public testing::Test {
 protected:
  std::string path_ =
      std::filesystem::temp_directory_path() / ("logjam-garbage-" + std::to_string(getpid()));
  void TearDown() override { std::filesystem::remove(path_); }
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

// Every byte that matters, flipped: an error or a smaller history, never a crash.
TEST_F(HistoryGarbage, FlippedBytes) {
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

TEST(Precedence, FindsTheShortCycle) {
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
