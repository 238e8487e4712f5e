// Recovery of hand-written logs: which records are applied, in which order, and which are skipped
// or refused.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>

#include "engine/recovery/recover.h"
#include "engine/storage/database.h"
#include "logging/format/record.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

constexpr uint64_t kRun = 0x1234;

struct Row {
  uint64_t value;
};

// Writes a log file of one stream, record by record.
class HandWrittenLog {
 public:
  struct Write {
    WriteOp op;
    Key key;
    uint64_t value = 0;
    uint16_t table = 0;
  };

  void add(RecordKind kind, uint64_t sequence, uint64_t txn, const std::vector<Write>& writes) {
    uint32_t bytes = sizeof(RecordHeader);
    std::vector<LoggedWrite> logged;
    for (const Write& write : writes) {
      LoggedWrite out;
      out.header = {write.table, write.op, WriteImage::kAfter, sizeof(Row), write.key};
      out.after = reinterpret_cast<const std::byte*>(&write.value);
      bytes += encoded_bytes(out.header);
      logged.push_back(out);
    }
    const size_t position = log_.size();
    log_.resize(position + bytes);
    RecordWriter writer(log_.data() + position, bytes, kind, sequence, txn);
    for (const LoggedWrite& write : logged) writer.add(write);
    writer.seal(kRun, position);
  }

  LogFiles files() const {
    LogFileHeader header;
    header.scheme = "centr";
    header.device = "sync";
    header.log_records = "txn";
    header.run = kRun;
    header.flags["workload"] = "none";
    std::ofstream out(log_file_path(directory_.path(), 0), std::ios::binary);
    const auto block = header.encode();
    out.write(reinterpret_cast<const char*>(block.data()), static_cast<long>(block.size()));
    out.write(reinterpret_cast<const char*>(log_.data()), static_cast<long>(log_.size()));
    out.close();
    return find_log_files({directory_.path()});
  }

 private:
  TemporaryDirectory directory_;
  std::vector<std::byte> log_;
};

class Recovery : public testing::Test {
 protected:
  Recovery() {
    TableSchema schema;
    schema.name = "rows";
    schema.row_bytes = sizeof(Row);
    Table& table = database_.create_table(schema);
    for (Key key = 1; key <= 3; ++key) {
      const Row row{key * 100};
      table.load(key, &row, arena_);
    }
  }

  RecoveryResult replay(const HandWrittenLog& log) {
    const LogFiles files = log.files();
    EXPECT_EQ(files.error, "");
    return recover(database_, files, first_gap(), 2);
  }

  std::map<Key, uint64_t> rows() {
    std::map<Key, uint64_t> found;
    database_.tables()[0]->for_each_row(
        [&](Key key, const std::byte* row) { std::memcpy(&found[key], row, sizeof(uint64_t)); });
    return found;
  }

  using Rows = std::map<Key, uint64_t>;
  Database database_;
  Arena arena_;
};

TEST_F(Recovery, AppliesUpdatesInsertsAndErases) {
  HandWrittenLog log;
  log.add(RecordKind::kTransaction, 10, 1,
          {{WriteOp::kUpdate, 1, 11}, {WriteOp::kInsert, 7, 77}, {WriteOp::kErase, 2}});
  const RecoveryResult result = replay(log);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.transactions, 1u);
  EXPECT_EQ(rows(), (Rows{{1, 11}, {3, 300}, {7, 77}}));
}

TEST_F(Recovery, TheLargestSequenceNumberWinsInAnyOrder) {
  HandWrittenLog log;
  log.add(RecordKind::kTransaction, 30, 1, {{WriteOp::kErase, 1}, {WriteOp::kUpdate, 2, 30}});
  log.add(RecordKind::kTransaction, 20, 2, {{WriteOp::kUpdate, 1, 20}, {WriteOp::kUpdate, 2, 20}});
  log.add(RecordKind::kTransaction, 10, 3, {{WriteOp::kInsert, 9, 10}});
  log.add(RecordKind::kTransaction, 40, 4, {{WriteOp::kErase, 9}});
  log.add(RecordKind::kTransaction, 15, 5, {{WriteOp::kInsert, 9, 15}});
  replay(log);
  EXPECT_EQ(rows(), (Rows{{2, 30}, {3, 300}}));
}

TEST_F(Recovery, OperationsCountOnlyWithTheirCommit) {
  HandWrittenLog log;
  log.add(RecordKind::kBegin, 1, 1, {});
  log.add(RecordKind::kBegin, 2, 2, {});
  log.add(RecordKind::kOperation, 3, 1, {{WriteOp::kUpdate, 1, 11}});
  log.add(RecordKind::kOperation, 4, 2, {{WriteOp::kUpdate, 3, 33}});
  log.add(RecordKind::kOperation, 5, 1, {{WriteOp::kUpdate, 2, 22}});
  log.add(RecordKind::kCommit, 6, 1, {});
  const RecoveryResult result = replay(log);
  EXPECT_EQ(result.transactions, 1u);
  EXPECT_EQ(result.incomplete, 1u);
  EXPECT_EQ(rows(), (Rows{{1, 11}, {2, 22}, {3, 300}}));
}

TEST_F(Recovery, VoidRecordsAreSkipped) {
  HandWrittenLog log;
  log.add(RecordKind::kVoid, 1, 1, {});
  log.add(RecordKind::kTransaction, 2, 2, {{WriteOp::kUpdate, 1, 11}});
  const RecoveryResult result = replay(log);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(rows().at(1), 11u);
}

TEST_F(Recovery, ARecordForAnUnknownTableIsAnError) {
  HandWrittenLog log;
  log.add(RecordKind::kTransaction, 1, 1, {{WriteOp::kUpdate, 1, 11, 5}});
  EXPECT_NE(replay(log).error.find("table 5"), std::string::npos);
}

}  // namespace
}  // namespace logjam
