// Autonomous Commit: which thief moves which workers' records, and how numbers depend on
// watermarks. tests/explored/buffers_test.cc has the schedules of thieves.

#include <cstring>

#include "logging/schemes/autonomous/stealing_group.h"
#include "tests/logging/scripted_log.h"

namespace logjam {
namespace {

constexpr uint32_t kStealBytes = 4 << 10, kWriteBytes = 16 << 10;

class AutonomousTest : public ScriptedLog {
 protected:
  AutonomousTest() { open_groups(2); }

  // Opens a log of `groups` stealing groups of eight workers. Worker w is in group w % `groups`.
  void open_groups(uint32_t groups, const std::string& device = "sync") {
    options_ =
        log_options_of_many(*find_scheme("autonomous"), directory_, device, 8 * groups, groups);
    options_.config.buffer_bytes = uint64_t{64} << 20;
    open();
  }
  Published publish_bytes(uint32_t worker, uint32_t bytes) {
    return publish_record(*log_, worker, ++txn_, bytes);
  }
  // Makes the stream durable. Returns the numbers of its records in the log's order.
  std::vector<uint64_t> order_in(uint32_t stream) {
    flush_all();
    std::vector<uint64_t> txns;
    for (const auto& [position, record] : read_log(stream_file(options_, stream)).records) {
      txns.push_back(record.txn);
    }
    return txns;
  }
};

TEST_F(AutonomousTest, ANumberThatIsDrawnAfterAWatermarkIsLarger) {
  const Published first = publish(0, {.max_overwritten = 100});
  flush_all();
  EXPECT_GT(publish(2).sequence, first.sequence) << "of the same stream";
  EXPECT_GT(publish(1).sequence, first.sequence) << "of another stream";
}

TEST_F(AutonomousTest, ACommitIsSafeWhenEveryStreamHasAWatermarkOfItsNumber) {
  const Published one = publish(0);
  flush(0);
  EXPECT_FALSE(durable(one));
  EXPECT_FALSE(survives(one));
  flush(1);
  EXPECT_TRUE(durable(one));
  EXPECT_TRUE(survives(one));
}

TEST_F(AutonomousTest, AnOpenRecordHoldsUpTheWatermarkAndNoBytes) {
  const LogReservation open = scheme().reserve(2, {}, 64);
  const Published smaller = publish(0);
  EXPECT_EQ(smaller.sequence, open.sequence);
  const Published other = publish(0, {.max_overwritten = 10});
  flush_all();
  EXPECT_FALSE(durable(smaller));
  EXPECT_EQ(order_in(0), (std::vector<uint64_t>{smaller.txn, other.txn}));
  const CommitPoint point = fill(2, open);
  flush_all();
  EXPECT_TRUE(durable(smaller));
  EXPECT_TRUE(durable(other));
  EXPECT_TRUE(durable(point));
}

TEST_F(AutonomousTest, AWatermarkIsBelowTheNumberOfAnOpenRecord) {
  const Published before = publish(0, {.max_overwritten = 10});
  const LogReservation open = scheme().reserve(2, {.max_overwritten = 20}, 64);
  const Published after = publish(0, {.max_overwritten = 30});
  flush_all();
  EXPECT_TRUE(durable(before));
  EXPECT_FALSE(durable(after));
  EXPECT_FALSE(survives(after));
  fill(2, open);
  flush_all();
  EXPECT_TRUE(durable(after));
  EXPECT_TRUE(survives(after));
}

TEST_F(AutonomousTest, AWriteCarriesTheRecordsOfItsGroupAndOfNoOther) {
  for (uint32_t worker = 0; worker < 16; ++worker) publish(worker);
  const double flushes = counter("flushes");
  scheme().flush(0, true);
  EXPECT_EQ(counter("flushes"), flushes + 1);
  EXPECT_EQ(counter("stolen_pieces"), 8);
  EXPECT_EQ(order_in(0).size(), 8u);
}

TEST_F(AutonomousTest, AWorkerWithFewBytesStealsFromItsGroupAndWritesItsOwnFirst) {
  publish(2);
  publish(0);
  publish(1);  // worker 1 is in the other stealing group
  publish_bytes(6, kStealBytes);
  EXPECT_EQ(counter("stolen_pieces"), 2);
  EXPECT_EQ(counter("stolen_bytes"), 128);
  EXPECT_EQ(order_in(0), (std::vector<uint64_t>{4, 2, 1}));
}

TEST_F(AutonomousTest, AWorkerWithManyBytesWritesItsOwnFirst) {
  open_groups(1);
  publish(0);
  publish_bytes(3, kWriteBytes);
  EXPECT_EQ(order_in(0), (std::vector<uint64_t>{2, 1}));
}

TEST_F(AutonomousTest, AWorkerThatHasMovedRecordsWritesThemItself) {
  open_groups(1, "sim:0");  // a worker polls this device
  const Published few = publish(0);
  EXPECT_EQ(counter("flushes"), 0);
  const Published thief = publish_bytes(3, kStealBytes);
  EXPECT_EQ(counter("flushes"), 1);
  EXPECT_EQ(counter("helped_flushes"), 1) << "by the thief";
  while (!durable(few)) scheme().poll(5);
  EXPECT_TRUE(durable(thief));
  EXPECT_EQ(counter("flushes"), 1) << "with the record of worker 0";
}

TEST_F(AutonomousTest, RecordsAreSealedWhereTheyLie) {
  for (uint32_t i = 0; i < 50; ++i) publish_bytes(i % 4, 64 + 8 * i);
  flush_all();
  for (uint32_t s = 0; s < 2; ++s) {
    const ReadLog log = read_log(stream_file(options_, s));
    EXPECT_EQ(log.records.size(), 25u);
    EXPECT_TRUE(log.filled_rightly);
  }
}

// The mock of a piece.
struct Piece {
  uint64_t room = ~uint64_t{0};
  uint64_t opened = 0;
  std::vector<uint64_t> records = {};
  int closed = 0;
  bool open_now = false;

  bool open(uint64_t bytes) {
    if (bytes > room) return false;
    opened += bytes;
    return open_now = true;
  }
  void move(const std::byte* from, uint64_t bytes) {
    EXPECT_TRUE(open_now);
    for (uint64_t at = 0; at < bytes; at += sizeof(uint64_t)) {
      records.push_back(*reinterpret_cast<const uint64_t*>(from + at));
    }
  }
  void close() {
    EXPECT_EQ(records.size() * sizeof(uint64_t), opened);
    ++closed;
    open_now = false;
  }
};

// Hands over a record of the worker `member`. The record has `words` words, each of them `number`.
void hand_over(StealingGroup& group, uint32_t member, uint64_t number, uint32_t words = 1) {
  const uint32_t bytes = words * sizeof(uint64_t);
  ASSERT_TRUE(group.fits(member, bytes));
  group.open(member, number, [&] { return number; });
  for (uint32_t i = 0; i < words; ++i) {
    std::memcpy(group.memory(member) + i * sizeof(number), &number, sizeof(number));
  }
  group.publish(member, bytes);
}

TEST(StealingGroup, AThiefTakesAsManyMembersAsThereIsRoomFor) {
  StealingGroup group(64);
  hand_over(group, 0, 1);
  hand_over(group, 2, 2);
  hand_over(group, 4, 3, 4);
  Piece small{.room = 16}, rest;
  group.steal(0, 8, small);
  EXPECT_EQ(small.records, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(group.unwritten(4), 32u);
  group.steal(0, 8, rest);
  EXPECT_EQ(rest.records, (std::vector<uint64_t>{3, 3, 3, 3}));
}

TEST(StealingGroup, AThiefMovesNoMoreThanItTook) {
  struct Interrupted {
    StealingGroup& group;
    Piece mine = {};
    bool open(uint64_t bytes) {
      hand_over(group, 0, 3);
      hand_over(group, 2, 4);
      return mine.open(bytes);
    }
    void move(const std::byte* from, uint64_t bytes) { mine.move(from, bytes); }
    void close() { mine.close(); }
  };
  StealingGroup group(64);
  hand_over(group, 0, 1);
  hand_over(group, 2, 2);
  Interrupted piece{group};
  group.steal(0, 8, piece);
  EXPECT_EQ(piece.mine.records, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(group.unwritten(0), 8u);
  EXPECT_EQ(group.unwritten(2), 8u);
}

TEST(StealingGroup, WithoutRoomNothingIsTaken) {
  StealingGroup group(64);
  hand_over(group, 2, 1);
  Piece full{.room = 0};
  EXPECT_EQ(group.take(2, true, full), 0u);
  group.steal(2, 8, full);
  EXPECT_EQ(full.closed, 0);
  EXPECT_EQ(group.unwritten(2), 8u);
}

TEST(StealingGroup, TwoThievesMoveDifferentMembers) {
  struct Nested {
    StealingGroup& group;
    Piece mine, other = {};
    bool open(uint64_t bytes) { return mine.open(bytes); }
    void move(const std::byte* from, uint64_t bytes) {
      mine.move(from, bytes);
      hand_over(group, 5, 6);
      group.steal(5, 8, other);
    }
    void close() { mine.close(); }
  };
  StealingGroup group(64);
  hand_over(group, 1, 2);
  hand_over(group, 2, 3);
  Nested piece{group, {}};
  group.steal(1, 1, piece);
  EXPECT_EQ(piece.mine.records, std::vector<uint64_t>{2});
  EXPECT_EQ(piece.other.records, (std::vector<uint64_t>{6, 3}));
}

TEST(StealingGroup, ABufferTakesOneLargerRecordWhenItIsEmpty) {
  StealingGroup group(64);
  hand_over(group, 0, 1);
  EXPECT_FALSE(group.fits(0, 800));
  EXPECT_TRUE(group.fits(0, 56));
  EXPECT_FALSE(group.fits(0, 64));
  Piece piece;
  group.take(0, true, piece);
  EXPECT_TRUE(group.fits(0, 800));
  hand_over(group, 0, 2, 100);
  EXPECT_FALSE(group.fits(0, 8));
}

}  // namespace
}  // namespace logjam
