// Tests which transactions the Serial Safety Net aborts (cc/serial_safety_net.cc).
#include <gtest/gtest.h>

#include "tests/cc/script.h"

namespace logjam {
namespace {

constexpr Key kX = 0, kY = 1, kZ = 2;

class SerialSafetyNet : public testing::TestWithParam<std::string> {
 protected:
  bool is_serializable() const { return world.protocol->serializable; }

  World world{GetParam()};
  Table& notes = *world.notes;
};

// T1 follows T2 in the order of commits, and precedes T2 in the serial order. OCC would abort T1.
TEST_P(SerialSafetyNet, LetsAReaderOfAnOverwrittenVersionCommit) {
  Actor t1(world), t2(world);
  EXPECT_EQ(t1.read(notes, kX), 0);
  EXPECT_EQ(t2.set(notes, kX, 1), Status::kOk);
  EXPECT_TRUE(t2.commit());
  EXPECT_EQ(t1.set(notes, kY, 1), Status::kOk);
  EXPECT_TRUE(t1.commit());
}

// T2 has read X before T1, and the reader has read X after T1 and Y before T2 (Fekete, O'Neil and
// O'Neil, SIGMOD Record 2004).
TEST_P(SerialSafetyNet, AbortsTheAnomalyOfAReadOnlyTransaction) {
  Actor t1(world), t2(world);
  EXPECT_EQ(t2.read(notes, kX), 0);
  EXPECT_EQ(t2.read(notes, kY), 0);
  EXPECT_EQ(t1.add(notes, kX, 20), Status::kOk);
  EXPECT_TRUE(t1.commit());
  Actor reader(world);
  EXPECT_EQ(reader.read(notes, kX), 20);
  EXPECT_EQ(reader.read(notes, kY), 0);
  EXPECT_TRUE(reader.commit());
  EXPECT_EQ(t2.add(notes, kY, -11), Status::kOk);
  EXPECT_EQ(t2.commit(), !is_serializable());
}

// Without the reader, T2 precedes T1.
TEST_P(SerialSafetyNet, LetsTheSameTransactionsCommitWithoutTheReader) {
  Actor t1(world), t2(world);
  EXPECT_EQ(t2.read(notes, kX), 0);
  EXPECT_EQ(t1.add(notes, kX, 20), Status::kOk);
  EXPECT_TRUE(t1.commit());
  EXPECT_EQ(t2.add(notes, kY, -11), Status::kOk);
  EXPECT_TRUE(t2.commit());
}

// T1 -> T2 -> T3 -> T1: T1 has read X before T2, T2 has read Y before T3, T3 has read Z before T1.
// The last of them to commit finds that pi, through T2, is the place of T3.
TEST_P(SerialSafetyNet, AbortsACycleOfThree) {
  Actor t1(world), t2(world), t3(world);
  EXPECT_EQ(t1.read(notes, kX), 0);
  EXPECT_EQ(t2.read(notes, kY), 0);
  EXPECT_EQ(t3.read(notes, kZ), 0);
  EXPECT_EQ(t3.set(notes, kY, 1), Status::kOk);
  EXPECT_TRUE(t3.commit());
  EXPECT_EQ(t2.set(notes, kX, 1), Status::kOk);
  EXPECT_TRUE(t2.commit());
  EXPECT_EQ(t1.set(notes, kZ, 1), Status::kOk);
  EXPECT_EQ(t1.commit(), !is_serializable());
}

// T1 has scanned a range, and T2 inserts into it after T1's commit. T2 has read X before T1.
TEST_P(SerialSafetyNet, AbortsAnInsertIntoARangeThatASuccessorHasScanned) {
  world.load_tens(*world.ordered, 200);
  Actor t1(world), t2(world);
  EXPECT_EQ(t2.read(notes, kX), 0);
  EXPECT_EQ(t1.scan(*world.ordered, 0, 100).size(), 11u);
  EXPECT_EQ(t1.set(notes, kX, 1), Status::kOk);
  EXPECT_TRUE(t1.commit());
  EXPECT_EQ(t2.insert(*world.ordered, 55, 1), Status::kOk);
  EXPECT_EQ(t2.commit(), !is_serializable());
}

TEST_P(SerialSafetyNet, LetsAnInsertIntoARangeCommitThatAPredecessorHasScanned) {
  world.load_tens(*world.ordered, 200);
  Actor t1(world), t2(world);
  EXPECT_EQ(t1.scan(*world.ordered, 0, 100).size(), 11u);
  EXPECT_TRUE(t1.commit());
  EXPECT_EQ(t2.insert(*world.ordered, 55, 1), Status::kOk);
  EXPECT_TRUE(t2.commit());
}

// A miss of an absent key precedes the key's insert.
TEST_P(SerialSafetyNet, AbortsAnInsertOfAKeyThatASuccessorHasMissed) {
  Actor t1(world), t2(world);
  EXPECT_EQ(t2.read(notes, kX), 0);
  EXPECT_FALSE(t1.read(*world.hash, 77).has_value());
  EXPECT_EQ(t1.set(notes, kX, 1), Status::kOk);
  EXPECT_TRUE(t1.commit());
  EXPECT_EQ(t2.insert(*world.hash, 77, 1), Status::kOk);
  EXPECT_EQ(t2.commit(), !is_serializable());
}

INSTANTIATE_TEST_SUITE_P(Snapshots, SerialSafetyNet, testing::Values("si", "ssn"), protocol_name);

}  // namespace
}  // namespace logjam
