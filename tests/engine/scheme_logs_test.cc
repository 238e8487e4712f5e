// Logs of several streams, which one thread writes with every scheme. The dependencies found in the
// log must be those of the transactions that the thread has logged. Both orders of replay must give
// the last written rows.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "engine/recovery/dependencies.h"
#include "engine/recovery/recover.h"
#include "engine/storage/database.h"
#include "logging/format/range_image.h"
#include "tests/logging/log_fixture.h"

namespace logjam {
namespace {

constexpr uint64_t kTransactions = 1000;
constexpr uint32_t kWorkers = 4;

// A log of kWorkers workers. A random worker logs each transaction.
class WorkersLog {
 public:
  explicit WorkersLog(const SchemeInfo& scheme)
      : options_(log_options_of_many(scheme, directory_, "sync", kWorkers, 3)), log(options_) {
    log.start();
  }
  // Calls log_next(worker), which logs a transaction and returns its commit point.
  template <class LogNext>
  void add(std::mt19937_64& random, const LogNext& log_next) {
    const auto worker = static_cast<uint32_t>(random() % kWorkers);
    last_[worker] = log_next(worker);
    log.scheme().poll(worker);
  }
  LogFiles end() {
    for (uint32_t worker = 0; worker < kWorkers; ++worker) {
      log.scheme().wait_durable(worker, last_[worker]);
    }
    log.drain();
    log.stop();
    const LogFiles files = find_log_files(options_.directories);
    EXPECT_EQ(files.error, "");
    return files;
  }

 private:
  LogDirectory directory_;
  LogOptions options_;
  std::array<CommitPoint, kWorkers> last_;

 public:
  Log log;
};

// For the numbers of two transactions: how many rows the first writes and the second overwrites.
using Overwrites = std::map<std::pair<uint64_t, uint64_t>, uint64_t>;

class DependenciesTest : public testing::TestWithParam<const SchemeInfo*> {
 protected:
  // With `by_operation`, each write is a record, and transactions interleave.
  void write_log(bool by_operation) {
    std::mt19937_64 random(7);
    for (uint64_t txn = 1; txn <= kTransactions; ++txn) {
      written_.add(random, [&](uint32_t worker) {
        std::vector<uint64_t> keys(1 + random() % 3);
        for (uint64_t& key : keys) key = random() % 60;
        return by_operation ? log_operations(worker, txn, keys)
                            : log_transaction(worker, txn, keys);
      });
    }
    files_ = written_.end();
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

  WorkersLog written_{*GetParam()};
  LogFiles files_;
  Overwrites expected_;

 private:
  LogScheme& scheme() { return written_.log.scheme(); }

  struct Writer {
    uint64_t txn, version;
  };

  // Keys 2k and 2k + 1 are row k of tables 0 and 1, so equal keys of two tables are different rows.
  static LoggedWrite write_of(uint64_t key) {
    static constexpr uint64_t kRow = 0;
    return {{static_cast<uint16_t>(key % 2), WriteOp::kUpdate, WriteImage::kAfter, sizeof kRow,
             key / 2},
            reinterpret_cast<const std::byte*>(&kRow)};
  }

  // Returns the largest version among the rows that the transaction overwrites.
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

  CommitPoint log_transaction(uint32_t worker, uint64_t txn, const std::vector<uint64_t>& keys) {
    StagedRecord record;
    for (const uint64_t key : keys) record.add(write_of(key));
    const LogReservation hole =
        scheme().reserve(worker, {.max_overwritten = overwritten(keys), .reads = true},
                         static_cast<uint32_t>(record.bytes()));
    record.fill(hole, RecordKind::kTransaction, txn, 0, written_.log.run());
    written(txn, keys, hole.sequence);
    return scheme().publish(worker, hole, RecordRole::kCommit);
  }

  CommitPoint log_operations(uint32_t worker, uint64_t txn, const std::vector<uint64_t>& keys) {
    const Dependencies deps{.max_overwritten = overwritten(keys), .reads = true};
    CommitPoint point;
    for (size_t i = 0; i <= keys.size() + 1; ++i) {
      const bool begins = i == 0, commits = i == keys.size() + 1;
      Dependencies of_record = deps;
      of_record.commits = commits;
      StagedRecord record;
      if (!begins && !commits) record.add(write_of(keys[i - 1]));
      const LogReservation hole =
          scheme().reserve(worker, of_record, static_cast<uint32_t>(record.bytes()));
      record.fill(hole,
                  begins    ? RecordKind::kBegin
                  : commits ? RecordKind::kCommit
                            : RecordKind::kOperation,
                  txn, 0, written_.log.run());
      point = scheme().publish(worker, hole, commits ? RecordRole::kCommit : RecordRole::kPart);
      if (commits) written(txn, keys, hole.sequence);
    }
    return point;
  }

  std::map<uint64_t, Writer> writers_;  // by key
};

TEST_P(DependenciesTest, EdgesAreTheOverwritesOfOperations) {
  write_log(true);
  const LogDependencies found = find_dependencies(files_, {});
  EXPECT_EQ(found.error, "");
  EXPECT_EQ(found.log_transactions, kTransactions);
  EXPECT_EQ(overwrites(found), expected_);
}

// The test computes the paths and distances a second time, with a simpler algorithm.
TEST_P(DependenciesTest, EdgesAreTheOverwritesOfWholeTransactionsAndPathsAreThoseOfTheEdges) {
  write_log(false);
  const LogDependencies found = find_dependencies(files_, {});
  EXPECT_EQ(overwrites(found), expected_);
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
  EXPECT_GT(inside.size(), 50u);
  const auto as_tuple = [](const Dependency& edge) {
    return std::tuple(edge.from, edge.to, edge.rows, edge.since);
  };
  EXPECT_TRUE(std::ranges::equal(part.edges, inside, {}, as_tuple, as_tuple));
  EXPECT_EQ(find_dependencies(files_, {.first = 990}).transactions.size(), 10u);
  EXPECT_EQ(find_dependencies(files_, {.first = 2000}).transactions.size(), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, DependenciesTest, testing::ValuesIn(logging_schemes()),
                         scheme_test_name);

// --- replay ---

constexpr Key kKeys = 40;
constexpr uint64_t kWrites = 2000;

struct Row {
  uint64_t value = 0;
  uint8_t last[40] = {};  // byte i: from the last value v with v % 40 == i

  bool erased() const { return value % 7 == 0; }
  bool operator==(const Row&) const = default;
};
using Rows = std::map<Key, Row>;

// Logs a transaction of one write. Only this thread writes the key. The call updates `*version`,
// the version of the key's row. If the write neither inserts nor erases the row, it is mostly
// logged as ranges.
CommitPoint log_write(Log& log, uint32_t worker, Key key, Row before, Row row, uint64_t* version) {
  LoggedWrite write;
  write.header = {0, row.erased() ? WriteOp::kErase : WriteOp::kUpdate, WriteImage::kAfter,
                  sizeof(Row), key};
  write.after = reinterpret_cast<const std::byte*>(&row);
  std::byte ranges[sizeof(Row)];
  if (!before.erased() && !row.erased() && row.value % 5 != 0) {
    write.header.image = WriteImage::kRanges;
    write.header.image_bytes = encode_ranges(*version, reinterpret_cast<const std::byte*>(&before),
                                             write.after, sizeof(Row), ranges);
    EXPECT_NE(write.header.image_bytes, 0u);
    write.after = ranges;
  }
  StagedRecord record;
  record.add(write);
  const LogReservation reservation = log.scheme().reserve(
      worker, {.max_overwritten = *version, .reads = true}, static_cast<uint32_t>(record.bytes()));
  record.fill(reservation, RecordKind::kTransaction, row.value, 0, log.run());
  *version = reservation.sequence;
  return log.scheme().publish(worker, reservation, RecordRole::kCommit);
}

Rows replay(const LogFiles& files, const RecoveryRule& rule, ReplayOrder order) {
  Database database;
  Table& table = database.create_table({.name = "rows", .row_bytes = sizeof(Row)});
  const RecoveryResult result = recover(database, files, rule, 3, order);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.transactions, kWrites);
  Rows rows;
  table.for_each_row(
      [&](Key key, const std::byte* row) { std::memcpy(&rows[key], row, sizeof(Row)); });
  return rows;
}

class ReplayTest : public testing::TestWithParam<const SchemeInfo*> {};

TEST_P(ReplayTest, MergedAndParallelReplayGiveTheLastWrites) {
  WorkersLog written(*GetParam());
  Rows expected;
  std::mt19937_64 random(7);
  std::vector<uint64_t> versions(kKeys);
  for (uint64_t value = 1; value <= kWrites; ++value) {
    const Key key = random() % kKeys;
    const Row before = expected[key];
    Row row = before.erased() ? Row{} : before;
    row.value = value;
    row.last[value % 40] = static_cast<uint8_t>(value);
    written.add(random, [&](uint32_t worker) {
      return log_write(written.log, worker, key, before, row, &versions[key]);
    });
    expected[key] = row;
  }
  std::erase_if(expected, [](const auto& row) { return row.second.erased(); });
  const LogFiles files = written.end();
  EXPECT_EQ(replay(files, GetParam()->recovery, ReplayOrder::kParallel), expected);
  EXPECT_EQ(replay(files, GetParam()->recovery, ReplayOrder::kMerged), expected);
}

INSTANTIATE_TEST_SUITE_P(All, ReplayTest, testing::ValuesIn(logging_schemes()), scheme_test_name);

}  // namespace
}  // namespace logjam
