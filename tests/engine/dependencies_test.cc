// The dependencies found in a log are exactly those of its writers, for every scheme.
#include "engine/recovery/dependencies.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/logging/log_fixture.h"

namespace logjam {
namespace {

constexpr uint64_t kTransactions = 1000;
constexpr uint32_t kWorkers = 4;

// The number of rows of one transaction that another one overwrites, by the numbers of both.
using Overwrites = std::map<std::pair<uint64_t, uint64_t>, uint64_t>;

// One thread writes the log for several workers, so it knows the last writer of each row.
class DependenciesTest : public testing::TestWithParam<const SchemeInfo*> {
 protected:
  // With `by_operation`, each write is a record of its own, between others'.
  void write_log(bool by_operation) {
    LogOptions options = log_options_of_many(*GetParam(), directory_, "sync", kWorkers, 3);
    Log log(options);
    log.start();
    std::mt19937_64 random(7);
    std::vector<CommitPoint> last(kWorkers);
    for (uint64_t txn = 1; txn <= kTransactions; ++txn) {
      const auto worker = static_cast<uint32_t>(random() % kWorkers);
      std::vector<uint64_t> keys(1 + random() % 3);
      for (uint64_t& key : keys) key = random() % 60;
      last[worker] = by_operation ? log_operations(log, worker, txn, keys)
                                  : log_transaction(log, worker, txn, keys);
      log.scheme().poll(worker);
    }
    for (uint32_t worker = 0; worker < kWorkers; ++worker) {
      log.scheme().wait_durable(worker, last[worker]);
    }
    log.drain();
    log.stop();
    files_ = find_log_files(options.directories);
    ASSERT_EQ(files_.error, "");
  }

  Overwrites overwrites(const LogDependencies& found) const {
    Overwrites edges;
    for (const Dependency& edge : found.edges) {
      EXPECT_LT(edge.from, edge.to);
      edges[{found.transactions[edge.from].txn, found.transactions[edge.to].txn}] += edge.rows;
    }
    EXPECT_EQ(edges.size(), found.edges.size()) << "two transactions have one edge at most";
    return edges;
  }

  LogDirectory directory_;
  LogFiles files_;
  Overwrites expected_;

 private:
  struct Writer {
    uint64_t txn, version;
  };

  // Table `key` % 2 has the row key / 2, so equal keys of two tables are different rows.
  static LoggedWrite write_of(uint64_t key) {
    static constexpr uint64_t kRow = 0;
    return {{static_cast<uint16_t>(key % 2), WriteOp::kUpdate, WriteImage::kAfter, sizeof kRow,
             key / 2},
            reinterpret_cast<const std::byte*>(&kRow)};
  }

  // Returns the largest version that the transaction overwrites.
  uint64_t overwritten(const std::vector<uint64_t>& keys) const {
    uint64_t most = 0;
    for (const uint64_t key : keys) {
      const auto found = writers_.find(key);
      if (found != writers_.end()) most = std::max(most, found->second.version);
    }
    return most;
  }
  void written(uint64_t txn, const std::vector<uint64_t>& keys, uint64_t version) {
    for (const uint64_t key : keys) {
      const auto found = writers_.find(key);
      if (found != writers_.end() && found->second.txn != txn)
        ++expected_[{found->second.txn, txn}];
      writers_[key] = {txn, version};
    }
  }

  CommitPoint log_transaction(Log& log, uint32_t worker, uint64_t txn,
                              const std::vector<uint64_t>& keys) {
    StagedRecord record;
    for (const uint64_t key : keys) record.add(write_of(key));
    const LogReservation hole =
        log.scheme().reserve(worker, {.max_overwritten = overwritten(keys), .reads = true},
                             static_cast<uint32_t>(record.bytes()));
    record.fill(hole, RecordKind::kTransaction, txn, 0, log.run());
    written(txn, keys, hole.sequence);
    return log.scheme().publish(worker, hole, RecordRole::kCommit);
  }

  CommitPoint log_operations(Log& log, uint32_t worker, uint64_t txn,
                             const std::vector<uint64_t>& keys) {
    const Dependencies deps{.max_overwritten = overwritten(keys), .reads = true};
    CommitPoint point;
    for (size_t i = 0; i <= keys.size() + 1; ++i) {
      const bool begins = i == 0, commits = i == keys.size() + 1;
      Dependencies of_record = deps;
      of_record.commits = commits;
      StagedRecord record;
      if (!begins && !commits) record.add(write_of(keys[i - 1]));
      const LogReservation hole =
          log.scheme().reserve(worker, of_record, static_cast<uint32_t>(record.bytes()));
      record.fill(hole,
                  begins    ? RecordKind::kBegin
                  : commits ? RecordKind::kCommit
                            : RecordKind::kOperation,
                  txn, 0, log.run());
      point = log.scheme().publish(worker, hole, commits ? RecordRole::kCommit : RecordRole::kPart);
      if (commits) written(txn, keys, hole.sequence);
    }
    return point;
  }

  std::map<uint64_t, Writer> writers_;  // by key
};

TEST_P(DependenciesTest, EdgesAreTheOverwritesOfWholeTransactions) {
  write_log(false);
  const LogDependencies found = find_dependencies(files_, {});
  EXPECT_EQ(found.error, "");
  EXPECT_EQ(found.log_transactions, kTransactions);
  EXPECT_EQ(overwrites(found), expected_);
}

TEST_P(DependenciesTest, EdgesAreTheOverwritesOfOperations) {
  write_log(true);
  const LogDependencies found = find_dependencies(files_, {});
  EXPECT_EQ(found.error, "");
  EXPECT_EQ(found.log_transactions, kTransactions);
  EXPECT_EQ(overwrites(found), expected_);
}

// The test computes both again, in a slower way.
TEST_P(DependenciesTest, PathsAndDistancesAreThoseOfTheEdges) {
  write_log(false);
  const LogDependencies found = find_dependencies(files_, {});
  std::vector<uint64_t> path(kTransactions, 1);
  for (const Dependency& edge : found.edges) {
    path[edge.to] = std::max(path[edge.to], path[edge.from] + 1);
    uint64_t since = 0;
    for (uint64_t between = edge.from + 1; between < edge.to; ++between) {
      if (found.transactions[between].stream == found.transactions[edge.from].stream) ++since;
    }
    EXPECT_EQ(edge.since, since);
  }
  EXPECT_EQ(found.longest_path, *std::ranges::max_element(path));
  EXPECT_GT(found.longest_path, 10u);
}

TEST_P(DependenciesTest, AWindowHasTheEdgesOfWhichBothEndsAreInIt) {
  write_log(false);
  const LogDependencies all = find_dependencies(files_, {});
  const LogDependencies part = find_dependencies(files_, {.first = 300, .most = 200});
  EXPECT_EQ(part.log_transactions, kTransactions);
  ASSERT_EQ(part.transactions.size(), 200u);
  std::vector<Dependency> inside;
  for (const Dependency& edge : all.edges) {
    if (edge.from < 300 || edge.to >= 500) continue;
    inside.push_back({edge.from - 300, edge.to - 300, edge.rows, edge.since});
  }
  ASSERT_EQ(part.edges.size(), inside.size());
  EXPECT_GT(inside.size(), 50u);
  for (size_t i = 0; i < inside.size(); ++i) {
    EXPECT_EQ(part.edges[i].from, inside[i].from);
    EXPECT_EQ(part.edges[i].to, inside[i].to);
    EXPECT_EQ(part.edges[i].rows, inside[i].rows);
    EXPECT_EQ(part.edges[i].since, inside[i].since);
  }
  EXPECT_EQ(find_dependencies(files_, {.first = 990}).transactions.size(), 10u);
  EXPECT_EQ(find_dependencies(files_, {.first = 2000}).transactions.size(), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, DependenciesTest, testing::ValuesIn(logging_schemes()),
                         scheme_test_name);

}  // namespace
}  // namespace logjam
