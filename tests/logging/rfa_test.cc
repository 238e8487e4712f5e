// RFA: the closed transactions, the logs for which they wait, and the records that a recovery uses.

#include "tests/logging/scripted_log.h"

namespace logjam {
namespace {

class RfaTest : public ScriptedLog {
 protected:
  RfaTest() {
    options_ = log_options_of_many(*find_scheme("rfa"), directory_, "sync", 4, 2);
    open();
  }

  // The logs of workers 0 and 2 are in stream 0; those of workers 1 and 3 are in stream 1.
  static Dependencies reads_remote(const Published& from) {
    return {.max_read = from.sequence, .max_foreign = from.sequence, .reads = true};
  }
  static Dependencies reads_own(const Published& from) {
    return {.max_read = from.sequence, .reads = true};
  }
  // Makes all published records durable in every stream.
  void settle() {
    for (int i = 0; i < 2; ++i) {
      publish(2);
      publish(3);
      flush_all();
    }
  }
  static bool of_one_log(const Published& one) {
    return one.point.scope == CommitPoint::Scope::kStream;
  }
};

TEST_F(RfaTest, ANumberNamesItsWorkerAndExceedsWhatItDependsOn) {
  const Published first = publish(0), other = publish(2, {.max_overwritten = first.sequence});
  EXPECT_EQ(first.sequence & 1023, 0u);
  EXPECT_EQ(other.sequence & 1023, 2u);
  EXPECT_GT(other.sequence, first.sequence);
  EXPECT_GT(publish(1, reads_remote(other)).sequence, other.sequence);
  EXPECT_GT(publish(0).sequence, first.sequence);
}

TEST_F(RfaTest, ATransactionThatReadsFromItsOwnLogWaitsForThatAlone) {
  const Published first = publish(0), reader = publish(0, reads_own(first));
  publish(1);
  EXPECT_FALSE(durable(reader));
  flush(0);
  EXPECT_TRUE(durable(reader));
  EXPECT_EQ(counter("remote_waits"), 0);
}

// The record of worker 0 may lie before that of worker 2, whose log is in the same stream.
TEST_F(RfaTest, AnotherWorkersLogIsRemoteEvenInTheSameStream) {
  publish(0);
  const Published remote = publish(2), reader = publish(0, reads_remote(remote));
  EXPECT_LT(reader.position, remote.position);
  EXPECT_FALSE(of_one_log(reader));
  flush(0);
  EXPECT_FALSE(durable(reader));
  flush(1);
  EXPECT_TRUE(durable(reader));
}

TEST_F(RfaTest, ATransactionThatReadsWhatIsNotDurableElsewhereWaitsForAllLogs) {
  const Published remote = publish(1), reader = publish(0, reads_remote(remote));
  flush(0);
  EXPECT_FALSE(durable(reader));
  flush(1);
  EXPECT_TRUE(durable(reader));
  EXPECT_EQ(counter("remote_waits"), 1);
  EXPECT_EQ(counter("false_waits"), 0);
}

// T1 reads from a remote transaction that is not durable. T2 reads from T1.
TEST_F(RfaTest, AReadFromATransactionThatWaitsForAllLogsWaitsForThemToo) {
  const Published remote = publish(1), t1 = publish(0, reads_remote(remote));
  const Published t2 = publish(0, reads_own(t1));
  flush(0);
  EXPECT_FALSE(durable(t2)) << "acknowledged before what it depends on";
  flush(1);
  EXPECT_TRUE(durable(t2));
  EXPECT_EQ(counter("false_waits"), 1) << "nothing that it read itself is remote";
}

TEST_F(RfaTest, AsPublishedItDoesNot) {
  flags_.set("ack", "unsafe");
  EXPECT_EQ(options_.scheme->unsafe(), "--ack=unsafe");
  open();
  const Published remote = publish(1), t1 = publish(0, reads_remote(remote));
  const Published t2 = publish(0, reads_own(t1));
  flush(0);
  EXPECT_TRUE(durable(t2));
  EXPECT_FALSE(durable(t1));
  EXPECT_FALSE(survives(t1));
  EXPECT_TRUE(survives(t2)) << "R4 is broken: T1 is lost";
}

// A transaction relies on another stream only if its own log says how far that one was durable.
TEST_F(RfaTest, ReadsOfWhatIsDurableEverywhereAreLocal) {
  const Published remote = publish(1);
  flush(1);
  EXPECT_FALSE(of_one_log(publish(0, reads_remote(remote)))) << "stream 0 may lack something";
  flush_all();
  ASSERT_TRUE(durable(CommitPoint::in_every_stream(remote.sequence)));
  const double before = counter("watermark_records");
  const Published reader = publish(0, reads_remote(remote));
  EXPECT_TRUE(of_one_log(reader));
  EXPECT_TRUE(of_one_log(publish(0, reads_remote(remote))));
  EXPECT_EQ(counter("watermark_records"), before + 1) << "the second one needs no other base";
  flush(0);
  EXPECT_TRUE(durable(reader));
  EXPECT_TRUE(survives(reader));
  auto lost = tails();
  lost[1].bytes = remote.position;
  EXPECT_LT(options_.scheme->recovery.cut(lost).bytes[0], reader.position);
}

TEST_F(RfaTest, AnotherWorkersBaseIsNotTheWorkersOwn) {
  const Published remote = publish(1);
  publish(0);
  publish(2);
  flush_all();
  const double before = counter("watermark_records");
  EXPECT_TRUE(of_one_log(publish(0, reads_remote(remote))));
  EXPECT_TRUE(of_one_log(publish(2, reads_remote(remote))));
  EXPECT_EQ(counter("watermark_records"), before + 2);
}

TEST_F(RfaTest, AWriterThatHasReadNothingIsClosed) {
  const Published remote = publish(1);
  const Published writer = publish(0, {.max_overwritten = remote.sequence});
  flush(0);
  EXPECT_TRUE(durable(writer));
  EXPECT_TRUE(survives(writer));
}

TEST_F(RfaTest, ATransactionThatWroteNothingWaitsForWhatItRead) {
  const Published own = publish(0), remote = publish(1);
  const CommitPoint of_own = scheme().commit_read_only(0, reads_own(own));
  const CommitPoint of_remote = scheme().commit_read_only(0, reads_remote(remote));
  EXPECT_FALSE(durable(of_own));
  flush(0);
  EXPECT_TRUE(durable(of_own));
  EXPECT_FALSE(durable(of_remote));
  flush(1);
  EXPECT_TRUE(durable(of_remote));
  EXPECT_EQ(scheme().commit_read_only(0, reads_remote(remote)).scope, CommitPoint::Scope::kNone);
}

TEST_F(RfaTest, ATransactionThatReadsOnlyWaitsForAllLogsIfItsLogHasAnOpenTransaction) {
  const Published remote = publish(1), t1 = publish(0, reads_remote(remote));
  const CommitPoint reader = scheme().commit_read_only(0, reads_own(t1));
  flush(0);
  EXPECT_FALSE(durable(reader));
  flush(1);
  EXPECT_TRUE(durable(reader));
}

TEST_F(RfaTest, RecoveryKeepsClosedTransactionsBeyondTheCutOfOthers) {
  const Published remote = publish(1);
  const Published open_one = publish(0, reads_remote(remote)), closed = publish(0);
  flush(0);
  EXPECT_FALSE(survives(open_one));
  EXPECT_TRUE(survives(closed));
}

TEST_F(RfaTest, AllRecordsOfATransactionCarryTheSameFlag) {
  const Published remote = publish(1);
  publish(0);
  Dependencies part = reads_remote(remote);
  part.commits = false;
  const LogReservation begin = scheme().reserve(0, part, 64);
  fill_record(begin, log_->run(), 99);
  scheme().publish(0, begin, RecordRole::kPart);
  settle();
  const LogReservation commit = scheme().reserve(0, reads_remote(remote), 64);
  EXPECT_EQ(begin.flags, 0);
  EXPECT_EQ(commit.flags, 0);
  fill(0, commit);
  settle();
  EXPECT_TRUE(of_one_log(publish(0, reads_remote(remote))));
}

TEST_F(RfaTest, AllRecordsOfAClosedTransactionSaySo) {
  Dependencies part;
  part.commits = false;
  const LogReservation begin = scheme().reserve(0, part, 64);
  fill_record(begin, log_->run(), 99);
  scheme().publish(0, begin, RecordRole::kPart);
  const LogReservation commit = scheme().reserve(0, {}, 64);
  EXPECT_EQ(begin.flags, kClosed);
  EXPECT_EQ(commit.flags, kClosed);
  fill(0, commit);
}

TEST_F(RfaTest, OneStreamNeedsNoBases) {
  options_ = log_options_of_many(*find_scheme("rfa"), directory_, "sync", 4, 1);
  open();
  const Published remote = publish(1), waits = publish(0, reads_remote(remote));
  EXPECT_FALSE(of_one_log(waits));
  flush(0);
  EXPECT_TRUE(durable(waits));
  const double before = counter("watermark_records");
  const Published reader = publish(0, reads_remote(remote));
  EXPECT_TRUE(of_one_log(reader));
  EXPECT_EQ(counter("watermark_records"), before);
  flush(0);
  EXPECT_TRUE(durable(reader));
  EXPECT_TRUE(survives(reader));
}

}  // namespace
}  // namespace logjam
