// Traces: reading a file, replaying it, and recording other workloads.
#include "workloads/trace/trace.h"

#include <sys/stat.h>

#include <fstream>
#include <map>
#include <random>
#include <regex>
#include <sstream>

#include "platform/files.h"
#include "platform/random.h"
#include "proof/disk/memory_files.h"
#include "tests/command_error.h"
#include "tests/temporary_directory.h"
#include "tests/workloads/harness.h"
#include "tests/workloads/small_scales.h"
#include "workloads/parallel_check.h"
#include "workloads/trace/record.h"
#include "workloads/trace/replay.h"

namespace logjam {
namespace {

using namespace trace;

// Every operation, and each form of a value.
constexpr std::string_view kByHand =
    "op,table,key,to,size,value,time_us,session\n"
    "table,list,,,4,ordered\n"
    "row,list,1,,,01\n"
    "row,list,2,,,02ff\n"
    "row,list,3\n"
    "row,kv,7,,16\n"
    "begin,,,,,,1000.5,3\n"
    "get,list,1\n"
    "update,list,2,,,22\n"
    "insert,list,9,,,09090909\n"
    "commit\n"
    "# a comment\n"
    "put,kv,8,,,88,1002\n"
    "\n"
    "delete,list,3,,,,1002.25\n"
    "scan,list,1,5,2\n";

Trace parsed(std::string_view text) {
  Trace trace;
  EXPECT_EQ(parse(text, &trace), "");
  return trace;
}

// Removes line number `number`, from 1, or replaces it by `by`.
std::string edited(std::string_view text, size_t number, std::string_view by) {
  std::istringstream in{std::string(text)};
  std::string out;
  size_t at = 0;
  for (std::string line; std::getline(in, line);) {
    out += ++at == number ? std::string(by) : line;
    out += '\n';
  }
  return out;
}

class TraceTest : public WorkloadTest {
 protected:
  // Writes a file, and names it by --trace.
  void give(std::string_view text, const char* name = "trace.csv") {
    const std::string path = directory_.path_of(name);
    std::ofstream(path, std::ios::binary) << text;
    set({{"trace", path}});
  }
  // Returns what the report of a run notes about the trace, with FILE in place of its name.
  static std::string note_of(const Workload& workload) {
    return std::regex_replace(workload.spec().caution(0), std::regex("=[^;]*@\\w*"), "=FILE");
  }
  const TemporaryDirectory directory_;
};

TEST_F(TraceTest, IsReadAsItsAuthorMeans) {
  const Trace trace = parsed(kByHand);
  ASSERT_EQ(trace.tables.size(), 2u);
  EXPECT_EQ(trace.tables[0].name, "list");
  EXPECT_TRUE(trace.tables[0].ordered);
  EXPECT_EQ(trace.tables[0].row_bytes, 4u);
  EXPECT_EQ(trace.tables[0].rows.size(), 3u);
  EXPECT_FALSE(trace.tables[1].ordered);
  EXPECT_EQ(trace.tables[1].row_bytes, 16u) << "the largest row";
  ASSERT_EQ(trace.transactions.size(), 4u);
  EXPECT_EQ(trace.operations_of(0).size(), 3u);
  EXPECT_EQ(trace.operations_of(1).size(), 1u);
  EXPECT_EQ(trace.transactions[0].time_ns, 1'000'500u);
  EXPECT_EQ(trace.transactions[0].session, 3u);
  EXPECT_EQ(trace.transactions[2].time_ns, 1'002'250u);
  EXPECT_EQ(trace.transactions[3].time_ns, 1'002'250u) << "the time of the line before";
  EXPECT_FALSE(trace.transactions[3].writes);
  const Operation& scan = trace.operations_of(3)[0];
  EXPECT_EQ(scan.kind, Kind::kScan);
  EXPECT_EQ(scan.key, 1u);
  EXPECT_EQ(scan.to, 5u);
  EXPECT_EQ(scan.most, 2u);
  const auto bytes = [&](const Value& value) {
    std::vector<std::byte> row(4, std::byte{0xee});
    trace.fill(value, row);
    return row;
  };
  EXPECT_EQ(bytes(trace.tables[0].rows[1].value),
            (std::vector{std::byte{2}, std::byte{0xff}, std::byte{0}, std::byte{0}}));
  EXPECT_NE(bytes(trace.tables[0].rows[2].value)[3], std::byte{0}) << "a whole row is made up";
}

TEST_F(TraceTest, ReadsWhatOtherProgramsWrite) {
  const Trace trace = parsed(
      "\xef\xbb\xbf\"key\",\"op\",\"table\",\"size\"\r\n"
      "7,put,\"kv\",100\r\n\"8\",\"put\",kv,\r\n"
      "7,get,kv");
  ASSERT_EQ(trace.transactions.size(), 3u) << "the last line has no line break";
  EXPECT_EQ(trace.operations[1].key, 8u);
  EXPECT_EQ(trace.operations[2].kind, Kind::kGet);
  EXPECT_EQ(trace.tables[0].row_bytes, 100u);
  EXPECT_TRUE(parsed("op,table,key\nscan,a,1\n").tables[0].ordered) << "a scan needs it";
}

TEST_F(TraceTest, RefusesEachWrongLineInOneSentence) {
  struct Wrong {
    size_t line;
    std::string_view by;
    std::string sentence;
  };
  const std::vector<Wrong> all = {
      {1, "op,tabel",
       "line 1: \"tabel\" is no column; the first line names some of the columns "
       "op, table, key, to, size, value, time_us, session"},
      {1, "op,table,key,op", "line 1: the column op is there twice"},
      {1, "op,table", "line 1: the first line names no column key"},
      {2, "table,list", "line 2: a table needs a size"},
      {2, "table,list,,,0", "line 2: the size \"0\" is not 1 to 1048576"},
      {2, "table,list,,,4,tree", "line 2: an index is hash or ordered, not \"tree\""},
      {2, "table,a/b,,,4",
       "line 2: \"a/b\" is no table; a name has at most 64 letters, digits, _, - and ."},
      {2, "table,list,,,4,hash",
       "line 16: a scan needs an ordered index, and the table list has a hash index"},
      {3, "row,list,-1", "line 3: the key \"-1\" is no number from 0 to 2^64-1"},
      {3, "row,list,2", "the lines 3 and 4 load the same row of the table list"},
      {3, "row,list", "line 3: a row needs a key"},
      {3, "row,list,1,,,0", "line 3: the value has an odd number of hexadecimal digits"},
      {3, "row,list,1,,,0x", "line 3: the value \"0x\" is not hexadecimal"},
      {3, "row,list,1,,,0102030405",
       "line 3: a row of 5 bytes; rows of the table list have at most 4"},
      {3, "row,list,1,,1,01",
       "line 3: a row has a size or a value, not both; a table line gives a row's bytes"},
      {6, "row,kv,7,,1048577",
       "line 6: a row of 1048577 bytes; rows of the table kv have at most 1048576"},
      {6, "table,list,,,4", "line 6: the table list is described after a line that uses it"},
      {7, "begin,list", "line 7: a begin takes no table"},
      {7, "begin,,,,,,1.2345",
       "line 7: the time_us \"1.2345\" is no number with at most three decimals"},
      {7, "begin,,,,,,,x", "line 7: the session \"x\" is no number from 0 to 2^64-1"},
      {7, "get,list,1", "line 11: this commit has no begin"},
      {8, "begin", "line 8: the transaction of line 7 has no commit before this begin"},
      {8, "get,list,1,,,,5", "line 8: only the begin of a transaction has a time_us and a session"},
      {8, "get,list,1,2", "line 8: a get takes no to"},
      {8, "get,list,18446744073709551616",
       "line 8: the key \"18446744073709551616\" is no number from 0 to 2^64-1"},
      {8, "fetch,list,1",
       "line 8: \"fetch\" is no operation; there are table, row, begin, commit, "
       "get, put, update, insert, delete, scan"},
      {8, "row,list,4", "line 8: rows come before the first transaction"},
      {8, "get,list,1,,,,,,", "line 8: 9 fields, and the first line names 8 columns"},
      {16, "scan,list,5,1", "line 16: \"1\" is no key from 5 on"},
      {16, "begin", "the file ends in the transaction that begins at line 16"},
  };
  for (const Wrong& wrong : all) {
    Trace trace;
    EXPECT_EQ(parse(edited(kByHand, wrong.line, wrong.by), &trace), wrong.sentence);
  }
  Trace trace;
  EXPECT_EQ(parse("", &trace), "the trace has no line that names columns");
  EXPECT_EQ(parse("op,table,key\nrow,a,1\n", &trace), "the trace has no transaction");
}

// Loads the trace and replays it with one worker. Expects verify() to pass.
void replay_all(const Trace& trace) {
  uint64_t bytes = 0;
  for (const TracedTable& table : trace.tables) {
    bytes += (table.rows.size() + table.inserts) * table.row_bytes;
  }
  constexpr uint64_t kMostBytes = 1 << 22;
  if (bytes > kMostBytes) return;
  const auto workload = make_replay("test", std::make_shared<Trace>(trace));
  const auto database = load(*workload, 1);
  OneWorker worker(*database);
  auto client = workload->make_client(*database, 0, 1, 1);
  while (!client->exhausted()) {
    client->next();
    EXPECT_NE(worker.execute(*client), Status::kAbort);
  }
  client.reset();
  expect_consistent(*workload, *database);
}

TEST_F(TraceTest, TenThousandDamagedTracesAreReplayedOrRefusedInOneSentence) {
  platform::SplitMix64 random(std::random_device{}());
  const auto below = [&](size_t most) { return static_cast<size_t>(random.next() % most); };
  constexpr std::string_view kPieces[] = {
      ",",    "\n",  "\"",    "-", "0", "9999999999999999999999", "\r", "begin", "commit",
      "scan", "row", "table", ".", "kv"};
  uint64_t refused = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::string text(kByHand);
    for (size_t change = 0; change <= below(4) && !text.empty(); ++change) {
      const size_t at = below(text.size());
      switch (below(5)) {
        case 0:
          text.erase(at, 1 + below(20));
          break;
        case 1:
          text.insert(at, kPieces[below(std::size(kPieces))]);
          break;
        case 2:
          text[at] = static_cast<char>(random.next());
          break;
        case 3:
          text.insert(below(text.size()), text.substr(at, below(60)));
          break;
        default:
          text.resize(at + 1);
      }
    }
    Trace trace;
    const std::string sentence = parse(text, &trace);
    if (sentence.empty()) {
      replay_all(trace);
      continue;
    }
    ++refused;
    const bool clean = sentence.size() < 300 && std::ranges::none_of(sentence, [](char c) {
                         return static_cast<unsigned char>(c) < ' ';
                       });
    EXPECT_TRUE(clean && (sentence.starts_with("line ") || sentence.starts_with("the ")))
        << sentence;
  }
  EXPECT_GT(refused, 3'000u);
  EXPECT_LT(refused, 9'900u);
}

using Rows = std::map<std::pair<std::string, Key>, std::vector<std::byte>>;

Rows rows_in(Database& database) {
  Rows rows;
  for (const auto& table : database.tables()) {
    table->for_each_row([&](Key key, const std::byte* row) {
      rows[{table->schema().name, key}] = {row, row + table->row_bytes()};
    });
  }
  return rows;
}

// Returns the rows that the trace leaves if its transactions run one after the other.
Rows rows_after(const Trace& trace) {
  Rows rows;
  const auto set = [&](const TracedTable& table, Key key, const Value& value) {
    std::vector<std::byte> row(table.row_bytes);
    trace.fill(value, row);
    rows[{table.name, key}] = row;
  };
  for (const TracedTable& table : trace.tables) {
    for (const InitialRow& row : table.rows) set(table, row.key, row.value);
  }
  for (const Operation& operation : trace.operations) {
    const TracedTable& table = trace.tables[operation.table];
    if (operation.kind == Kind::kDelete) rows.erase({table.name, operation.key});
    if (operation.kind == Kind::kPut || operation.kind == Kind::kInsert ||
        operation.kind == Kind::kUpdate) {
      set(table, operation.key, operation.value);
    }
  }
  return rows;
}

// Replays the workload's trace to its end.
std::unique_ptr<Database> replayed(Workload& workload, uint32_t workers,
                                   const ProtocolInfo& protocol, uint64_t* rollbacks = nullptr) {
  auto database = load(workload, 2);
  Outcome outcome;
  run(workload, *database, protocol, workers, ~uint64_t{0}, 1, outcome);
  if (rollbacks != nullptr) *rollbacks = outcome.rollbacks;
  return database;
}

TEST_F(TraceTest, OneWorkerLeavesTheRowsOfTheFile) {
  for (const ProtocolInfo& protocol : all_protocols()) {
    for (const bool small : {true, false}) {
      std::string text(kByHand);
      if (small) {
        std::ifstream file("proof/small_trace.csv");
        text.assign(std::istreambuf_iterator<char>(file), {});
      }
      give(text);
      const auto workload = make_workload("trace");
      uint64_t rollbacks = 0;
      const auto database = replayed(*workload, 1, protocol, &rollbacks);
      expect_consistent(*workload, *database);
      EXPECT_EQ(rows_in(*database), rows_after(parsed(text))) << protocol.name;
      EXPECT_EQ(rollbacks, 0u);
    }
  }
}

TEST_F(TraceTest, SeveralWorkersLeaveEachRowAsOneOfThemLeftItLast) {
  set(small_scale("trace"));
  for (const ProtocolInfo& protocol : all_protocols()) {
    const auto workload = make_workload("trace");
    const auto database = replayed(*workload, 4, protocol);
    expect_consistent(*workload, *database);
    EXPECT_EQ(failing(*make_workload("trace"), *database), std::vector<std::string>{});
  }
}

TEST_F(TraceTest, ASessionStaysWithOneWorkerInOrder) {
  std::string text = "op,table,key,value,session\n";
  for (int i = 0; i < 60; ++i) {
    text += "put,kv," + std::to_string(i % 3) + ",0" + std::to_string(i % 10) + "," +
            std::to_string(i % 3) + "\n";
  }
  give(text);
  const auto workload = make_workload("trace");
  const auto database = replayed(*workload, 2, all_protocols().front());
  // Each key has one session, so the rows are those of the file with any number of workers.
  EXPECT_EQ(rows_in(*database), rows_after(parsed(text)));
}

TEST_F(TraceTest, WritesThatDoNotFitRollBackAndReadsMiss) {
  give(
      "op,table,key\nrow,a,1\ninsert,a,1\nupdate,a,2\ndelete,a,3\nget,a,4\n"
      "begin\nput,a,5\ninsert,a,1\ncommit\n");
  OneClient one("trace");
  std::vector<Status> statuses;
  while (!one.client->exhausted()) {
    one.client->next();
    statuses.push_back(one.worker.execute(*one.client));
  }
  EXPECT_EQ(statuses, (std::vector{Status::kRollback, Status::kRollback, Status::kRollback,
                                   Status::kNotFound, Status::kRollback}));
  one.client.reset();
  EXPECT_EQ(count_rows(*one.database->tables()[0]), 1u);
  expect_consistent(*one.workload, *one.database);
}

TEST_F(TraceTest, ACommandIsTheNumberOfATransactionOfItsType) {
  constexpr uint32_t kReads = 0, kWrites = 1;
  give(kByHand);
  const auto workload = make_workload("trace");
  const auto database = load(*workload, 1);
  const auto client = workload->make_replayer(*database);
  const auto takes = [&](uint32_t type, const std::vector<uint64_t>& words) {
    return client->take(type, std::as_bytes(std::span(words)));
  };
  EXPECT_TRUE(takes(kWrites, {0}));
  EXPECT_TRUE(takes(kWrites, {2}));
  EXPECT_TRUE(takes(kReads, {3}));
  EXPECT_FALSE(takes(kReads, {0}));
  EXPECT_FALSE(takes(kWrites, {3}));
  for (const uint32_t type : {kReads, kWrites}) {
    EXPECT_FALSE(takes(type, {4})) << "the trace has four transactions";
  }
  EXPECT_FALSE(takes(kWrites, {}));
  EXPECT_FALSE(takes(kWrites, {0, 0}));
}

TEST_F(TraceTest, VerifyFindsPlantedErrors) {
  set(small_scale("trace"));
  const auto in = [](Database& database, const std::function<void(Transaction&, Table&)>& change) {
    in_transaction(database, all_protocols().front(),
                   [&](Transaction& txn) { change(txn, database.table("list")); });
  };
  // The 400 transactions delete the rows 0 to 49, and insert the rows 1002, 1010, ...
  expect_caught("trace", 400, "each row is as", [&](Database& database) {
    in(database,
       [](Transaction& txn, Table& table) { EXPECT_EQ(txn.erase(table, 250), Status::kOk); });
  });
  expect_caught("trace", 400, "each row is as", [&](Database& database) {
    in(database, [](Transaction& txn, Table& table) {
      std::byte* row;
      EXPECT_EQ(txn.update(table, Key{1010}, &row), Status::kOk);
      row[29] ^= std::byte{1};
    });
  });
  const std::vector<std::byte> row(30);
  expect_caught("trace", 400, "each row is as", [&](Database& database) {
    in(database, [&](Transaction& txn, Table& table) {
      EXPECT_EQ(txn.insert(table, 7, row.data()), Status::kOk);
    });
  });
  expect_caught("trace", 400, "no row is there", [&](Database& database) {
    in(database, [&](Transaction& txn, Table& table) {
      EXPECT_EQ(txn.insert(table, 777, row.data()), Status::kOk);
    });
  });
  // The next transactions of the trace would insert this row, but nobody has executed them.
  expect_caught("trace", 400, "no row is there", [&](Database& database) {
    in(database, [&](Transaction& txn, Table& table) {
      EXPECT_EQ(txn.insert(table, 2002, row.data()), Status::kOk);
    });
  });
}

TEST_F(TraceTest, AChangedFileIsRefused) {
  give(kByHand);
  EXPECT_EQ(refusal_of("trace", {}), "");
  find_workload("trace")->check_flags();
  gflags::CommandLineFlagInfo info;
  ASSERT_TRUE(gflags::GetCommandLineFlagInfo("trace", &info));
  const std::string named = info.current_value, path = directory_.path_of("trace.csv");
  EXPECT_TRUE(named.starts_with(path + "@")) << "the flag names the content, too: " << named;
  EXPECT_EQ(refusal_of("trace", {{"trace", named}}), "");
  std::ofstream(path, std::ios::app) << "get,kv,1\n";
  set({{"trace", path}});
  EXPECT_EQ(refusal_of("trace", {}), "");
  const std::string said = refusal_of("trace", {{"trace", named}});
  EXPECT_TRUE(said.starts_with("--trace=" + path + ": the file has changed: its checksum is "))
      << said;
}

// `logjam explore` reads the file before it plays rounds on a disk in memory.
TEST_F(TraceTest, AFileThatWasReadNeedsNoDiskAnyMore) {
  give(kByHand);
  ASSERT_EQ(find_workload("trace")->check_flags(), "");
  MemoryFiles disk;
  const platform::ReplaceFiles replace(disk);
  EXPECT_EQ(find_workload("trace")->check_flags(), "");
  EXPECT_EQ(make_workload("trace")->spec().types.size(), 2u);
}

TEST_F(TraceTest, RefusesFlagsAndFilesThatCannotBeUsed) {
  EXPECT_EQ(refusal_of("trace", {{"trace", ""}}), "--workload=trace needs --trace=FILE");
  const std::string missing = directory_.path_of("missing");
  EXPECT_EQ(refusal_of("trace", {{"trace", missing}}),
            "--trace=" + missing + ": No such file or directory");
  EXPECT_EQ(refusal_of("trace", {{"trace", directory_.path()}}),
            "--trace=" + directory_.path() + ": Is a directory");
  const std::string fifo = directory_.path_of("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(refusal_of("trace", {{"trace", fifo}}), "--trace=" + fifo + ": it is no plain file");
  EXPECT_EQ(refusal_of("trace", {{"trace", "/dev/zero"}}),
            "--trace=/dev/zero: it is no plain file");
  give("op,table,key\nget,a,1\n");
  EXPECT_EQ(refusal_of("trace", {{"trace_speed", "1"}}),
            "--trace_speed needs a trace with a column time_us");
  EXPECT_EQ(refusal_of("trace", {{"trace_speed", "nan"}}),
            "--trace_speed is 0, or 0.001 to 1000000");
}

TEST_F(TraceTest, TransactionsArriveAtTheirTimes) {
  give(
      "op,table,key,time_us\n"
      "put,a,1,5000\nput,a,2,5010\nput,a,3,5005.5\nput,a,4\nput,a,5,4000\nput,a,6,6000\n");
  set({{"trace_speed", "2"}});
  const auto workload = make_workload("trace");
  const auto database = load(*workload, 1);
  const auto times = [&](uint32_t worker, uint32_t workers) {
    const auto client = workload->make_client(*database, worker, workers, 1);
    const auto all = client->arrivals_ns();
    return std::vector<uint64_t>(all.begin(), all.end());
  };
  EXPECT_EQ(times(0, 1), (std::vector<uint64_t>{0, 5000, 5000, 5000, 5000, 500'000}));
  const std::string back =
      " that go back, counts as that of an earlier transaction; sort the file by time";
  EXPECT_EQ(note_of(*workload), "--trace=FILE, line 4: its time_us, one of 3" + back);
  EXPECT_EQ(times(1, 2), (std::vector<uint64_t>{5000, 5000, 500'000}));
  EXPECT_EQ(note_of(*workload), "--trace=FILE, line 5: its time_us, one of 2" + back);
  set({{"trace_speed", "0"}});
  EXPECT_EQ(note_of(*workload), "");
  EXPECT_TRUE(times(0, 1).empty()) << "a closed loop";
}

TEST_F(TraceTest, ATableThatNothingFillsIsNoted) {
  // Returns the note about a trace of a loaded table `a` and these lines, from line 3.
  const auto note = [&](const std::string& lines, const std::string& load = "row,a,1\n") {
    give("op,table,key,to,size,value\n" + load + lines);
    return note_of(*make_workload("trace"));
  };
  const std::string rest =
      ": the table b begins empty, and no insert fills it; if its name is "
      "right, give it a line with op=table";
  for (const char* line :
       {"get,b,1\n", "put,b,1\n", "update,b,1\n", "delete,b,1\n", "scan,b,1\n"}) {
    EXPECT_EQ(note(line), "--trace=FILE, line 3" + rest);
    EXPECT_EQ(note("get,a,1\nput,a,1\n" + std::string(line)), "--trace=FILE, line 5" + rest);
    EXPECT_EQ(note(line + std::string("insert,b,1\n")), "");
    EXPECT_EQ(note(line, "table,b,,,8,ordered\n"), "");
    EXPECT_EQ(note(line, "row,b,2\n"), "");
  }
  EXPECT_EQ(note("get,b,1\n", "put,a,1\n"), "--trace=FILE, line 3" + rest);
  EXPECT_EQ(note("put,b,1\nget,b,1\n", "put,a,1\n"), "") << "puts write the first rows";
}

TEST_F(TraceTest, TheFirstTransactionThatRolledBackIsNoted) {
  const auto note = [&](const std::string& lines) {
    give("op,table,key,to,size,value\nrow,a,1\nrow,a,2\n" + lines);
    const auto workload = make_workload("trace");
    (void)replayed(*workload, 1, all_protocols().front());
    return note_of(*workload);
  };
  EXPECT_EQ(note("insert,a,3\nupdate,a,3\ndelete,a,3\nget,a,3\nput,a,3\n"), "");
  for (const std::string line : {"insert,a,1\n", "update,a,3\n", "delete,a,3\n"}) {
    EXPECT_EQ(note("get,a,1\nbegin\nget,a,2\n" + line + "commit\n" + line).substr(0, 71),
              "--trace=FILE, line 5: this transaction, the first of 2 that rolled back");
  }
}

// Records a run of `workers` workers, and replays the file with one worker.
void expect_same_rows(const TemporaryDirectory& directory, std::string_view name,
                      const ProtocolInfo& protocol, uint32_t workers, uint64_t transactions) {
  const std::string path = directory.path_of("recorded.csv");
  uint64_t rows = 0, commits = 0;
  {
    Recording recording(path);
    auto workload = make_workload(name);
    const auto database = load(*workload, 1);
    recording.write_rows(*database);
    workload = recorded(std::move(workload), recording);
    Outcome outcome;
    run(*workload, *database, protocol, workers, transactions, 1, outcome, workers == 1);
    EXPECT_EQ(recording.keep(), "");
    expect_consistent(*workload, *database);
    rows = fingerprint(*database);
    commits = outcome.commits;
  }
  EXPECT_FALSE(std::filesystem::exists(unfinished_trace(path)));
  const gflags::FlagSaver saver;
  gflags::SetCommandLineOption("trace", path.c_str());
  const auto workload = make_workload("trace");
  uint64_t rollbacks = 0;
  const auto database = replayed(*workload, 1, all_protocols().front(), &rollbacks);
  EXPECT_EQ(fingerprint(*database), rows);
  EXPECT_EQ(rollbacks, 0u);
  expect_consistent(*workload, *database);
  const auto checks = workload->verify(*database);
  const std::string all = std::to_string(commits);
  EXPECT_NE(checks[0].detail.find("; " + all + " of " + all + " transactions"), std::string::npos)
      << checks[0].detail;
}

TEST_F(TraceTest, ARecordingOfEveryWorkloadLeavesTheSameRows) {
  for_each_small_scale([&](const WorkloadInfo& info) {
    for (const ProtocolInfo& protocol : all_protocols()) {
      SCOPED_TRACE(protocol.name);
      expect_same_rows(directory_, info.name, protocol, 1, 150);
      expect_same_rows(directory_, info.name, protocol, 4, 150);
    }
  });
}

// Of two writers of a row, the one that commits first is acknowledged last.
TEST_F(TraceTest, ARecordingHasTheOrderOfTheWrites) {
  give("op,table,key,value\nrow,a,1,00\nput,a,1,0a\nput,a,1,00\n");
  const std::string path = directory_.path_of("recorded.csv");
  Recording recording(path);
  auto workload = make_workload("trace");
  const auto database = load(*workload, 1);
  recording.write_rows(*database);
  workload = recorded(std::move(workload), recording);
  const std::unique_ptr<LogScheme> log = find_scheme("none")->make({.workers = 2});
  const auto first = workload->make_client(*database, 0, 2, 1);
  const auto second = workload->make_client(*database, 1, 2, 1);
  const auto commit = [&](Client& client, uint32_t number) {
    LoneWorker worker(*database, all_protocols().front(), log.get(), number);
    worker.context.observer = client.commit_observer();
    client.next();
    worker.transaction().begin(false);
    EXPECT_EQ(client.execute(worker.transaction()), Status::kOk);
    const uint64_t committing = client.committing();
    EXPECT_EQ(worker.transaction().commit(), Status::kOk);
    return committing;
  };
  const uint64_t of_first = commit(*first, 0);
  second->acknowledged(commit(*second, 1));
  first->acknowledged(of_first);
  EXPECT_EQ(recording.keep(), "");
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(std::regex_replace(text, std::regex("begin,,,,,,[0-9]+"), "begin"),
            std::string(kRecordedColumns) +
                "table,a,,,1,hash\nrow,a,1,,,00\n"
                "begin\nput,a,1,,,0a\ncommit\nbegin\nput,a,1,,,00\ncommit\n");
}

TEST_F(TraceTest, ARecordingIsRefusedOrRemovedAsAWhole) {
  EXPECT_REFUSED(Recording(directory_.path_of("missing/trace")), "No such file or directory");
  const std::string path = directory_.path_of("trace");
  std::ofstream(path) << "an older one";
  { const Recording dropped(path); }
  EXPECT_FALSE(std::filesystem::exists(unfinished_trace(path)));
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "an older one");
}

}  // namespace
}  // namespace logjam
