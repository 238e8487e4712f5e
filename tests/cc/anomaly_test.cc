// Every serializable protocol prevents every anomaly, with and without early lock release. Snapshot
// isolation prevents all of them except those that need a read that is overwritten (write skew). A
// script gives an interleaving and the outcomes that are not serializable. Any transaction of the
// script may abort.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <tuple>

#include "tests/cc/script.h"

namespace logjam {
namespace {

class Anomaly : public testing::TestWithParam<std::tuple<std::string, bool>> {
 protected:
  Anomaly() { start_over(); }

  void start_over() {
    const auto& [protocol, elr] = GetParam();
    world_ = std::make_unique<World>(protocol, FakeLog::Options{}, LogRecords::kTransaction, elr);
    world_->load_tens(ordered(), 200);
    world_->load_tens(hash(), 20);
  }

  // Calls looks(T1), which reads rows, and then changes(T2), which changes these rows. Then T2
  // reads a note, and T1 writes this note. By the rows, T1 would have to precede T2. By the note,
  // T2 would have to precede T1. So at most one of the two may commit.
  void expect_conflict(const std::function<void(Actor&)>& looks,
                       const std::function<void(Actor&)>& changes) {
    for (const std::string order :
         {"T2 is over before T1 writes", "T2 commits first", "T1 commits first"}) {
      SCOPED_TRACE(order);
      start_over();
      Actor t1(world()), t2(world());
      looks(t1);
      EXPECT_TRUE(t1.alive) << "nothing stood in its way";
      changes(t2);
      t2.read(notes(), 0);
      if (order == "T2 is over before T1 writes") {
        t2.commit();
        t2.durable();
      }
      t1.set(notes(), 0, 1);
      if (order == "T2 commits first") t2.commit();
      t1.commit();
      if (order == "T1 commits first") t2.commit();
      if (serializable()) {
        EXPECT_FALSE(t1.committed && t2.committed) << "not serializable";
      }
      EXPECT_TRUE(t1.committed || t2.committed) << "one of them could have committed";
    }
  }

  World& world() { return *world_; }
  bool serializable() const { return world_->protocol->serializable; }
  Table& ordered() { return *world_->ordered; }
  Table& hash() { return *world_->hash; }
  Table& notes() { return *world_->notes; }

 private:
  std::unique_ptr<World> world_;
};

TEST_P(Anomaly, NoDirtyRead) {
  Actor t1(world()), t2(world());
  t1.add(hash(), 10, 100);
  const auto seen = t2.read(hash(), 10);
  t2.commit();
  t1.abort();
  if (t2.committed) {
    EXPECT_EQ(seen, 1);
  }
  Actor t3(world());
  EXPECT_EQ(t3.read(hash(), 10), 1);
  EXPECT_TRUE(t3.commit());
}

TEST_P(Anomaly, NoLostUpdate) {
  Actor t1(world()), t2(world());
  const auto seen1 = t1.read(hash(), 10);
  const auto seen2 = t2.read(hash(), 10);
  t1.set(hash(), 10, seen1.value_or(0) + 10);
  t2.set(hash(), 10, seen2.value_or(0) + 10);
  t1.commit();
  t2.commit();
  const int commits = t1.committed + t2.committed;
  EXPECT_GE(commits, 1);
  EXPECT_EQ(world().content(hash())[10], 1 + 10 * commits);
}

TEST_P(Anomaly, NoReadSkew) {
  Actor t1(world()), t2(world());
  const auto x = t1.read(hash(), 10);
  t2.add(hash(), 10, -5);
  t2.add(hash(), 20, +5);
  t2.commit();
  const auto y = t1.read(hash(), 20);
  t1.commit();
  EXPECT_TRUE(t1.committed || t2.committed);
  if (t1.committed) {
    EXPECT_EQ(x.value() + y.value(), 2);
  }
}

TEST_P(Anomaly, NoWriteSkew) {
  Actor t1(world()), t2(world());
  t1.read(hash(), 10);
  t1.read(hash(), 20);
  t2.read(hash(), 10);
  t2.read(hash(), 20);
  t1.set(hash(), 10, 0);
  t2.set(hash(), 20, 0);
  t1.commit();
  t2.commit();
  EXPECT_EQ(t1.committed && t2.committed, !serializable()) << "each read what the other wrote";
  EXPECT_TRUE(t1.committed || t2.committed);
}

TEST_P(Anomaly, NoOrderCycleOfThree) {
  Actor t1(world()), t2(world()), t3(world());
  t1.read(hash(), 10);
  t2.read(hash(), 20);
  t3.read(hash(), 30);
  t1.set(hash(), 20, 9);
  t2.set(hash(), 30, 9);
  t3.set(hash(), 10, 9);
  t1.commit();
  t2.commit();
  t3.commit();
  EXPECT_EQ(t1.committed && t2.committed && t3.committed, !serializable());
}

TEST_P(Anomaly, ChangeOfWhatWasRead) {
  const auto reads = [&](Actor& t) { t.read(ordered(), 50); };
  const auto erases = [&](Actor& t) { t.erase(ordered(), 50); };
  expect_conflict(reads, [&](Actor& t) { t.add(ordered(), 50, 1); });
  expect_conflict(reads, erases);
  // A refused insert depends on the row with the same primary or unique secondary key.
  expect_conflict([&](Actor& t) { EXPECT_EQ(t.insert(ordered(), 50, 1), Status::kExists); },
                  erases);
  const Row same_email{1, 0, 1050};
  expect_conflict(
      [&](Actor& t) { EXPECT_EQ(t.insert(ordered(), 9999, same_email), Status::kExists); }, erases);
}

TEST_P(Anomaly, InsertAfterMiss) {
  const auto inserts = [&](Actor& t) { t.insert(ordered(), 55, 1); };
  expect_conflict([&](Actor& t) { EXPECT_FALSE(t.read(hash(), 55).has_value()); },
                  [&](Actor& t) { t.insert(hash(), 55, 1); });
  expect_conflict([&](Actor& t) { EXPECT_FALSE(t.read(ordered(), 55).has_value()); }, inserts);
  expect_conflict([&](Actor& t) { EXPECT_EQ(t.add(ordered(), 55, 1), Status::kNotFound); },
                  inserts);
  expect_conflict([&](Actor& t) { EXPECT_EQ(t.set(ordered(), 55, 1), Status::kNotFound); },
                  inserts);
  expect_conflict([&](Actor& t) { EXPECT_EQ(t.erase(ordered(), 55), Status::kNotFound); }, inserts);
}

// The index has the key, with an absent tuple. A miss depends on this tuple, not on the index node.
TEST_P(Anomaly, InsertAfterMissOfErasedRow) {
  const auto look = [&](const std::function<Outcome(Actor&)>& miss) {
    expect_conflict(
        [&](Actor& t) {
          Actor before(world());
          before.erase(ordered(), 50);
          EXPECT_TRUE(before.commit());
          before.durable();
          t.begin();
          EXPECT_EQ(miss(t), Status::kNotFound);
        },
        [&](Actor& t) {
          t.begin();
          t.insert(ordered(), 50, 1);
        });
  };
  look([&](Actor& t) {
    return Outcome{t.read(ordered(), 50).has_value() ? Status::kOk : Status::kNotFound};
  });
  look([&](Actor& t) { return t.set(ordered(), 50, 1); });
  look([&](Actor& t) { return t.erase(ordered(), 50); });
}

TEST_P(Anomaly, PhantomByInsertOrErase) {
  for (const bool descending : {false, true}) {
    expect_conflict(
        [&](Actor& t) { EXPECT_EQ(t.scan(ordered(), 500, 1500, descending).size(), 101u); },
        [&](Actor& t) { t.insert(ordered(), 777, 1); });
  }
  for (const Key edge : {501, 1499}) {
    expect_conflict([&](Actor& t) { t.scan(ordered(), 501, 1499); },
                    [&](Actor& t) { t.insert(ordered(), edge, 1); });
  }
  expect_conflict([&](Actor& t) { EXPECT_TRUE(t.scan(ordered(), 5000, 6000).empty()); },
                  [&](Actor& t) { t.insert(ordered(), 5500, 1); });
  expect_conflict([&](Actor& t) { t.scan(ordered(), 500, 1500); },
                  [&](Actor& t) { EXPECT_NE(t.erase(ordered(), 770), Status::kNotFound); });
}

TEST_P(Anomaly, PhantomInSecondaryIndex) {
  const auto inserts = [&](Actor& t) { t.insert(ordered(), 9999, Row{1, 4, 77}); };
  expect_conflict([&](Actor& t) { EXPECT_EQ(t.scan_group(ordered(), 3, 5).size(), 30u); }, inserts);
  expect_conflict([&](Actor& t) { EXPECT_EQ(t.read_secondary(ordered(), 0, 4).size(), 10u); },
                  inserts);
  expect_conflict([&](Actor& t) { EXPECT_TRUE(t.read_secondary(ordered(), 1, 77).empty()); },
                  inserts);
}

// A row's secondary key moves into the scanned range, out of the range, or within the range.
TEST_P(Anomaly, PhantomByAMovedSecondaryKey) {
  const auto scans = [&](Actor& t) { EXPECT_EQ(t.scan_group(ordered(), 3, 5).size(), 30u); };
  expect_conflict(scans, [&](Actor& t) { t.move(ordered(), 900, 4); });
  expect_conflict(scans, [&](Actor& t) { t.move(ordered(), 450, 9); });
  expect_conflict([&](Actor& t) { EXPECT_EQ(t.read_secondary(ordered(), 0, 4).size(), 10u); },
                  [&](Actor& t) {
                    t.set(ordered(), 900, Row{1, 4, 1900});
                  });
  expect_conflict(
      [&](Actor& t) {
        Actor there(world()), back(world());
        there.move(ordered(), 900, 4);
        EXPECT_TRUE(there.commit());
        there.durable();
        back.begin();
        back.move(ordered(), 900, 9);
        EXPECT_TRUE(back.commit());
        back.durable();
        t.begin();
        scans(t);
      },
      [&](Actor& t) {
        t.begin();
        t.move(ordered(), 900, 4);
      });
}

TEST_P(Anomaly, AStoppedScanIgnoresRowsAfterItsEnd) {
  Actor t1(world()), t2(world());
  EXPECT_EQ(t1.scan(ordered(), 0, 1999, false, 3), (std::vector<Key>{0, 10, 20}));
  t2.insert(ordered(), 1555, 1);
  t2.add(ordered(), 1800, 1);
  EXPECT_TRUE(t2.commit());
  t1.set(notes(), 0, 1);
  EXPECT_TRUE(t1.commit());
}

TEST_P(Anomaly, PhantomInANodeSplitByItsOwnInsert) {
  for (const Key foreign : {Key{501}, Key{655}, Key{899}, Key{995}}) {
    expect_conflict(
        [&](Actor& t) {
          t.scan(ordered(), 500, 1000);
          for (Key key = 600; key < 900; ++key) {
            if (key % 10 != 0 && key != foreign) t.insert(ordered(), key, 1);
          }
        },
        [&](Actor& t) { t.insert(ordered(), foreign, 1); });
  }
}

TEST_P(Anomaly, OwnInsertDoesNotHideAForeignInsertInTheSameNode) {
  Actor before(world());
  before.insert(ordered(), 775, 1);  // if the node has to split, it splits here
  EXPECT_TRUE(before.commit());
  before.durable();
  Actor t1(world()), t2(world());
  t1.scan(ordered(), 500, 1500);
  t2.insert(ordered(), 777, 1);
  t2.read(notes(), 0);
  t2.commit();
  t1.insert(ordered(), 778, 1);
  t1.set(notes(), 0, 1);
  t1.commit();
  EXPECT_EQ(t1.committed && t2.committed, !serializable());
  EXPECT_TRUE(t1.committed || t2.committed);
}

TEST_P(Anomaly, TwoInsertsOfOneKey) {
  // Commits both transactions. Expects that exactly one inserts its row. Returns whether T1 inserts
  // its row.
  const auto one_of = [&](Actor& t1, Outcome first, Actor& t2, Outcome second) {
    t2.commit();
    t1.commit();
    const bool first_in = t1.committed && first == Status::kOk;
    EXPECT_NE(first_in, t2.committed && second == Status::kOk);
    return first_in;
  };
  for (const Key key : {Key{55}, Key{50}}) {
    Actor eraser(world());
    eraser.erase(ordered(), key);
    EXPECT_TRUE(eraser.commit());
    eraser.durable();
    Actor t1(world()), t2(world());
    const Outcome first = t1.insert(ordered(), key, 111), second = t2.insert(ordered(), key, 222);
    const bool first_in = one_of(t1, first, t2, second);
    (first_in ? t1 : t2).durable();
    EXPECT_EQ(world().content(ordered())[key], first_in ? 111 : 222);
  }
  Actor t1(world()), t2(world());  // two inserts with one unique secondary key
  const Outcome first = t1.insert(ordered(), 9001, Row{1, 0, 77});
  const Outcome second = t2.insert(ordered(), 9002, Row{2, 0, 77});
  one_of(t1, first, t2, second);
}

TEST_P(Anomaly, BlindWriteOfARowErasedMeanwhile) {
  Actor t1(world()), t2(world());
  EXPECT_EQ(t1.set(hash(), 10, 9), Status::kOk);
  t2.erase(hash(), 10);
  t2.commit();
  t1.commit();
  t2.durable();
  EXPECT_EQ(world().content(hash()).contains(10), !t2.committed);
  EXPECT_FALSE(t1.committed && t2.committed) << "it wrote a row that was not there";
  EXPECT_TRUE(t1.committed || t2.committed);
}

TEST_P(Anomaly, AnAbortUndoesAllWrites) {
  const auto rows = world().content(ordered());
  Actor t1(world());
  t1.add(ordered(), 50, 7);
  t1.erase(ordered(), 60);
  t1.insert(ordered(), 55, 1);
  t1.set(ordered(), 70, 7);
  t1.abort();
  EXPECT_EQ(world().content(ordered()), rows);
  Actor t2(world());
  EXPECT_EQ(t2.scan(ordered(), 0, 1999).size(), 200u);
  EXPECT_FALSE(t2.read(ordered(), 55).has_value());
  EXPECT_EQ(t2.insert(ordered(), 55, 3), Status::kOk) << "the absent tuple is taken over";
  EXPECT_TRUE(t2.commit());
  t2.durable();
  EXPECT_EQ(world().content(ordered())[55], 3);
}

INSTANTIATE_TEST_SUITE_P(Protocols, Anomaly, every_protocol_and_release(), protocol_and_release);

}  // namespace
}  // namespace logjam
