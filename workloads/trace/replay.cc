// Replays the transactions of a trace (workloads/trace/trace.h).
//
// Each transaction belongs to one worker: transactions of the same session to the same worker, or,
// in a trace without sessions, one transaction after the other to the next worker. A worker keeps
// the order of its transactions. There is no order between workers, so only a replay by one worker
// leaves the rows that the file says.
#include "workloads/trace/replay.h"

#include <gflags/gflags.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/fatal.h"
#include "platform/files.h"
#include "platform/memory.h"
#include "platform/text.h"
#include "workloads/command.h"
#include "workloads/flag_refusals.h"
#include "workloads/parallel_check.h"
#include "workloads/table_checks.h"

DEFINE_string(trace, "",
              "CSV file of rows and transactions to replay (docs/WORKLOADS.md); FILE, or "
              "FILE@CHECKSUM, as rows and logs name it, which refuses a file that has changed");
DEFINE_double(trace_speed, 0,
              "1: transactions begin at the times of the trace (open loop); 2: in half of the "
              "time; 0: each worker begins its next transaction as soon as it can");

namespace logjam::trace {
namespace {

enum Type : uint32_t { kReads, kWrites };

constexpr double kLeastSpeed = 1e-3, kMostSpeed = 1e6;

// The transactions that rolled back. Any worker notes them; the report reads them after the run.
class RolledBack {
 public:
  void note(uint64_t transaction) {
    count_.fetch_add(1, platform::memory_order_relaxed);
    platform::atomic_max(last_from_end_, ~transaction, platform::memory_order_relaxed);
  }
  uint64_t count() const { return count_.load(platform::memory_order_relaxed); }
  uint64_t first() const { return ~last_from_end_.load(platform::memory_order_relaxed); }

 private:
  platform::atomic<uint64_t> count_{0}, last_from_end_{0};
};

class ReplayClient : public Client {
 public:
  // `own` are the numbers of the client's transactions. `owners` has an element for each
  // transaction. `owners` and `rolled_back` outlive the client.
  ReplayClient(std::shared_ptr<const Trace> trace, Database& database, uint32_t worker,
               std::vector<uint64_t> own, std::vector<uint32_t>& owners, RolledBack& rolled_back)
      : trace_(std::move(trace)),
        worker_(worker),
        own_(std::move(own)),
        acknowledged_(own_.size()),
        owners_(owners),
        rolled_back_(rolled_back) {
    for (const auto& table : database.tables()) tables_.push_back(table.get());
    if (FLAGS_trace_speed == 0) return;
    constexpr double kMostNs = 1e18;
    const uint64_t first = trace_->transactions.front().time_ns;
    for (const uint64_t number : own_) {
      const uint64_t time = trace_->transactions[number].time_ns;
      const double after = time < first ? 0 : static_cast<double>(time - first);
      const auto due = static_cast<uint64_t>(std::min(after / FLAGS_trace_speed, kMostNs));
      due_ns_.push_back(due_ns_.empty() ? due : std::max(due, due_ns_.back()));
    }
  }
  ~ReplayClient() override {
    for (size_t i = 0; i < own_.size(); ++i) {
      if (acknowledged_[i]) owners_[own_[i]] = worker_ + 1;
    }
  }

  uint32_t next() override {
    LJ_ASSERT(!exhausted());
    chosen_ = own_[begun_++];
    return type_of(chosen_);
  }
  bool exhausted() const override { return begun_ == own_.size(); }
  std::span<const uint64_t> arrivals_ns() const override { return due_ns_; }

  Status execute(Transaction& txn) override {
    bool miss = false;
    for (const Operation& operation : trace_->operations_of(chosen_)) {
      const Status status = execute(txn, *tables_[operation.table], operation);
      if (status == Status::kRollback) rolled_back_.note(chosen_);
      if (status == Status::kAbort || status == Status::kRollback) return status;
      miss |= status == Status::kNotFound;
    }
    return miss ? Status::kNotFound : Status::kOk;
  }

  // Returns the transaction's number. A recovery reads the trace again, and refuses it if it has
  // changed.
  std::span<const std::byte> command() override { return std::as_bytes(std::span(&chosen_, 1)); }
  bool take(uint32_t type, std::span<const std::byte> input) override {
    CommandWords words(input);
    const uint64_t number = words.next();
    if (!words.ended() || number >= trace_->transactions.size()) return false;
    chosen_ = number;
    return type == type_of(number);
  }

  uint64_t committing() override { return begun_; }
  void acknowledged(uint64_t number) override {
    if (number != 0) acknowledged_[number - 1] = true;  // 0: a command of a log
  }

 private:
  uint32_t type_of(uint64_t transaction) const {
    return trace_->transactions[transaction].writes ? kWrites : kReads;
  }

  // Returns kNotFound for a read without a row, and kRollback for a write that needs, or must not
  // find, a row.
  Status execute(Transaction& txn, Table& table, const Operation& operation) {
    std::byte* row;
    switch (operation.kind) {
      case Kind::kGet: {
        const auto bytes = std::min<uint64_t>(operation.most, table.row_bytes());
        const std::byte* found;
        return txn.read_head(table, operation.key, static_cast<uint32_t>(bytes), &found);
      }
      case Kind::kPut:
        return put(txn, table, operation);
      case Kind::kUpdate: {
        const Status status = txn.update(table, operation.key, &row);
        if (status == Status::kOk) fill(table, operation, row);
        return status == Status::kNotFound ? Status::kRollback : status;
      }
      case Kind::kInsert: {
        const Status status = insert(txn, table, operation);
        return status == Status::kExists ? Status::kRollback : status;
      }
      case Kind::kDelete: {
        const Status status = txn.erase(table, operation.key);
        return status == Status::kNotFound ? Status::kRollback : status;
      }
      case Kind::kScan:
        return scan(txn, table, operation);
    }
    return Status::kRollback;
  }

  // Writes the row, whether it is there or not. Tries again if another worker inserts it between
  // the two calls. The commit then fails, because the transaction has seen both states.
  Status put(Transaction& txn, Table& table, const Operation& operation) {
    while (true) {
      std::byte* row;
      Status status = txn.write(table, operation.key, &row);
      if (status == Status::kOk) fill(table, operation, row);
      if (status == Status::kNotFound) status = insert(txn, table, operation);
      if (status != Status::kExists) return status;
    }
  }

  Status insert(Transaction& txn, Table& table, const Operation& operation) {
    new_row_.resize(table.row_bytes());
    fill(table, operation, new_row_.data());
    return txn.insert(table, operation.key, new_row_.data());
  }

  static Status scan(Transaction& txn, Table& table, const Operation& operation) {
    uint64_t left = operation.most;
    if (left == 0) return Status::kOk;
    return txn.scan(table, operation.key, operation.to, false,
                    [&left](Key, const std::byte*) { return --left != 0; });
  }

  void fill(const Table& table, const Operation& operation, std::byte* row) const {
    trace_->fill(operation.value, {row, table.row_bytes()});
  }

  const std::shared_ptr<const Trace> trace_;
  const uint32_t worker_;
  const std::vector<uint64_t> own_;
  std::vector<bool> acknowledged_;  // by index into own_
  std::vector<uint32_t>& owners_;
  RolledBack& rolled_back_;
  std::vector<Table*> tables_;
  std::vector<uint64_t> due_ns_;  // by index into own_; empty: a closed loop
  std::vector<std::byte> new_row_;
  uint64_t begun_ = 0;   // how many of own_
  uint64_t chosen_ = 0;  // the number of the transaction to execute
};

// A state in which the load or a transaction leaves a row.
struct LeftState {
  uint16_t table;
  Key key;
  uint32_t owner;      // the transaction's worker, from 1; 0: the load
  uint64_t operation;  // of the trace
  const Value* value;  // null: the row is absent
  auto place() const { return std::tie(table, key, owner, operation); }
};

class Replay : public Workload {
 public:
  Replay(std::string name, std::shared_ptr<const Trace> trace)
      : name_(std::move(name)), trace_(std::move(trace)), owners_(trace_->transactions.size()) {}

  void create_tables(Database& database) override {
    for (const TracedTable& table : trace_->tables) {
      Columns columns;
      columns.key("key", [](Key key) { return key; }).bytes("value", 0, table.row_bytes);
      database.create_table({.name = table.name,
                             .row_bytes = table.row_bytes,
                             .kind = table.ordered ? IndexKind::kOrdered : IndexKind::kHash,
                             .expected_rows = table.rows.size() + table.inserts,
                             .columns = columns});
    }
  }

  void load(Database& database, uint32_t part, uint32_t parts, Arena& arena) override {
    std::vector<std::byte> bytes;
    for (size_t i = 0; i < trace_->tables.size(); ++i) {
      Table& table = *database.tables()[i];
      bytes.resize(table.row_bytes());
      const auto& rows = trace_->tables[i].rows;
      for (const size_t row : part_of(rows.size(), part, parts)) {
        trace_->fill(rows[row].value, bytes);
        table.load(rows[row].key, bytes.data(), arena);
      }
    }
  }

  // Prepares to replay the whole trace once more.
  void resume(Database&) override { loaded_ = false; }

  Specification spec() const override {
    uint64_t rows = 0, bytes = 0, growth = 0;
    for (const TracedTable& table : trace_->tables) {
      rows += table.rows.size();
      bytes += table_bytes(table.rows.size(), table.row_bytes);
      growth += table_bytes(table.inserts, table.row_bytes);
    }
    return {.description = "trace: " + name_ + ", " + std::to_string(trace_->transactions.size()) +
                           " transactions, " + std::to_string(rows) + " initial rows",
            .expected_bytes = bytes,
            .growth_bytes_s = growth,
            .types = {{"reads"}, {"writes"}},
            .own_arrivals = FLAGS_trace_speed != 0,
            .caution = [this](double) { return note(); }};
  }

  std::unique_ptr<Client> make_client(Database& database, uint32_t worker, uint32_t workers,
                                      uint64_t) override {
    std::vector<uint64_t> own;
    for (uint64_t i = 0; i < trace_->transactions.size(); ++i) {
      if (worker_of(i, workers) == worker) own.push_back(i);
    }
    clients_.fetch_add(1, platform::memory_order_relaxed);
    return std::make_unique<ReplayClient>(trace_, database, worker, std::move(own), owners_,
                                          rolled_back_);
  }

  // Makes a client without transactions of its own. verify() does not count this client, because a
  // replay leaves rows that were recovered.
  std::unique_ptr<Client> make_replayer(Database& database) override {
    return std::make_unique<ReplayClient>(trace_, database, 0, std::vector<uint64_t>(), owners_,
                                          rolled_back_);
  }

  std::vector<Check> verify(Database& database) override;

 private:
  std::vector<LeftState> left_states(bool knows_acknowledged) const;
  std::string at_line(uint64_t line) const {
    return "--trace=" + name_ + ", line " + std::to_string(line) + ": ";
  }
  std::string unfilled_table() const;
  std::string time_gone_back() const;
  std::string first_rolled_back() const;
  std::string note() const {
    std::string note = unfilled_table();
    const std::string back = time_gone_back();
    if (!back.empty()) platform::append_part(&note, "; ", back);
    const std::string undone = first_rolled_back();
    if (!undone.empty()) platform::append_part(&note, "; ", undone);
    return note;
  }
  uint64_t worker_of(uint64_t transaction, uint32_t workers) const {
    const bool sessions = trace_->has_sessions;
    return (sessions ? trace_->transactions[transaction].session : transaction) % workers;
  }

  const std::string name_;
  const std::shared_ptr<const Trace> trace_;
  // By transaction: the worker, from 1, that has it acknowledged; 0: none. Each client writes the
  // elements of its own transactions, when it is destroyed.
  std::vector<uint32_t> owners_;
  platform::atomic<uint32_t> clients_{0};
  RolledBack rolled_back_;
  bool loaded_ = true;  // false: the rows were recovered
};

// Returns the states in which the load, and the acknowledged transactions or all transactions,
// leave rows, sorted by row, worker and time.
std::vector<LeftState> Replay::left_states(bool knows_acknowledged) const {
  std::vector<LeftState> states;
  for (size_t table = 0; table < trace_->tables.size(); ++table) {
    for (const InitialRow& row : trace_->tables[table].rows) {
      states.push_back({static_cast<uint16_t>(table), row.key, 0, 0, &row.value});
    }
  }
  for (uint64_t i = 0; i < owners_.size(); ++i) {
    if (knows_acknowledged && owners_[i] == 0) continue;
    for (const Operation& operation : trace_->operations_of(i)) {
      if (operation.kind == Kind::kGet || operation.kind == Kind::kScan) continue;
      const auto number = static_cast<uint64_t>(&operation - trace_->operations.data());
      states.push_back({operation.table, operation.key, std::max(owners_[i], 1u), number,
                        operation.kind == Kind::kDelete ? nullptr : &operation.value});
    }
  }
  std::ranges::sort(states, {}, &LeftState::place);
  return states;
}

// Checks that each row has the last state that one of the workers has left. After a recovery it is
// not known which transactions were acknowledged. Then a row may have any state of the trace.
std::vector<Check> Replay::verify(Database& database) {
  const bool exact = loaded_ && clients_.load(platform::memory_order_relaxed) > 0;
  const std::vector<LeftState> states = left_states(exact);
  BrokenRows broken;
  uint64_t found = 0;
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < states.size();) {
    const LeftState& first = states[i];
    Table& table = *database.tables()[first.table];
    const auto* row = find_row<std::byte>(table, first.key);
    found += row != nullptr ? 1 : 0;
    bytes.resize(table.row_bytes());
    const auto shows = [&](const Value* value) {
      if (row == nullptr || value == nullptr) return row == nullptr && value == nullptr;
      trace_->fill(*value, bytes);
      return std::memcmp(row, bytes.data(), bytes.size()) == 0;
    };
    bool fits = !exact && first.owner != 0 && row == nullptr;
    for (; i < states.size() && states[i].table == first.table && states[i].key == first.key; ++i) {
      const LeftState* next = i + 1 < states.size() ? &states[i + 1] : nullptr;
      const bool same_row = next != nullptr && next->table == first.table && next->key == first.key;
      const bool overwritten =
          exact && same_row && (states[i].owner == 0 || states[i].owner == next->owner);
      fits = fits || (!overwritten && shows(states[i].value));
    }
    if (!fits) {
      broken.note([&] {
        return "; first: row " + std::to_string(first.key) + " of " + table.schema().name +
               (row == nullptr ? " is absent" : "");
      });
    }
  }
  uint64_t present = 0;
  for (const auto& table : database.tables()) present += count_rows(*table);
  const auto done = std::ranges::count_if(owners_, [](uint32_t owner) { return owner != 0; });
  return {
      {exact ? "each row is as a worker left it last" : "each row is as the trace left it once",
       broken.count == 0,
       std::to_string(found) + " rows, " + std::to_string(broken.count) + " wrong" + broken.first +
           (exact ? "; " + std::to_string(done) + " of " + std::to_string(owners_.size()) +
                        " transactions acknowledged"
                  : "")},
      {"no row is there that is not in the trace", present == found,
       std::to_string(present) + " rows, " + std::to_string(found) + " of the trace"}};
}

// Returns a sentence about the first table that begins empty and that no insert fills, or "". Puts
// fill it if the trace loads and describes no table. Otherwise a misspelt put would look like this.
std::string Replay::unfilled_table() const {
  const auto expected = [](const TracedTable& t) { return t.described || !t.rows.empty(); };
  const bool puts_fill = std::ranges::none_of(trace_->tables, expected);
  const auto unfilled = std::ranges::find_if(trace_->tables, [&](const TracedTable& table) {
    return !expected(table) && !table.inserted && !(puts_fill && table.inserts != 0);
  });
  if (unfilled == trace_->tables.end()) return "";
  return at_line(unfilled->line) + "the table " + unfilled->name +
         " begins empty, and no insert fills it; if its name is right, give it a line with "
         "op=table";
}

// Returns a sentence about the first time that is smaller than an earlier one of its worker, or
// than that of the first transaction, or "". A trace of several recorded workers has such times.
std::string Replay::time_gone_back() const {
  const uint32_t workers = clients_.load(platform::memory_order_relaxed);
  if (FLAGS_trace_speed == 0 || workers == 0) return "";
  std::vector<uint64_t> latest_ns(workers, trace_->transactions.front().time_ns);
  uint64_t line = 0, count = 0;
  for (uint64_t i = 0; i < trace_->transactions.size(); ++i) {
    const TracedTransaction& transaction = trace_->transactions[i];
    uint64_t& latest = latest_ns[worker_of(i, workers)];
    if (transaction.time_ns < latest && count++ == 0) line = transaction.line;
    latest = std::max(latest, transaction.time_ns);
  }
  if (count == 0) return "";
  return at_line(line) + "its time_us, one of " + std::to_string(count) +
         " that go back, counts as that of an earlier transaction; sort the file by time";
}

// Returns a sentence about the first transaction of the trace that rolled back, or "".
std::string Replay::first_rolled_back() const {
  const uint64_t count = rolled_back_.count();
  if (count == 0) return "";
  return at_line(trace_->transactions[rolled_back_.first()].line) +
         "this transaction, the first of " + std::to_string(count) +
         " that rolled back, inserts a row that is there, or updates or deletes one that is not";
}

// The file of --trace. Only the main thread reads it.
struct TraceFile {
  std::string path, checksum = {};
  std::shared_ptr<const Trace> trace = nullptr;  // null: `wrong` says why
  std::string wrong = {};
  std::string name() const { return path + "@" + checksum; }
};

TraceFile split_name(const std::string& given) {
  constexpr size_t kDigits = 16;
  const size_t at = given.rfind('@');
  if (at == std::string::npos || given.size() - at != kDigits + 1 ||
      given.find_first_not_of("0123456789abcdef", at + 1) != std::string::npos) {
    return {.path = given};
  }
  return {.path = given.substr(0, at), .checksum = given.substr(at + 1)};
}

TraceFile read_file(const std::string& given) {
  TraceFile file = split_name(given);
  const auto refuse = [&](const std::string& why) {
    file.wrong = "--trace=" + file.path + ": " + why;
    return file;
  };
  if (std::error_code error; std::filesystem::path(file.path).is_relative()) {
    file.path = std::filesystem::absolute(file.path, error);
  }
  // A log's header has one block, in which the name must fit.
  constexpr size_t kMostNameBytes = 1024;
  if (file.path.size() > kMostNameBytes) return refuse("the name is too long");
  // The trace in memory takes up to seven times the memory of its text.
  const uint64_t most = platform::available_bytes() / 8;
  std::string text;
  const int error = platform::read_file(file.path, &text, most);
  if (error == EFBIG) return refuse("the file is longer than an eighth of the available memory");
  if (error == EBADFD) return refuse("it is no plain file");
  if (error != 0) return refuse(platform::error_text(error));
  char checksum[20];
  std::snprintf(checksum, sizeof checksum, "%016lx", XXH3_64bits(text.data(), text.size()));
  if (!file.checksum.empty() && file.checksum != checksum) {
    return refuse(std::string("the file has changed: its checksum is ") + checksum + ", not " +
                  file.checksum);
  }
  file.checksum = checksum;
  auto trace = std::make_shared<Trace>();
  if (const std::string wrong = parse(text, trace.get()); !wrong.empty()) return refuse(wrong);
  file.trace = std::move(trace);
  return file;
}

// Returns the last file that was read, if --trace still names it with its checksum.
const TraceFile& file_of_flag() {
  static TraceFile& last = *new TraceFile;
  if (last.trace == nullptr || last.name() != FLAGS_trace) last = read_file(FLAGS_trace);
  return last;
}

// Adds the file's directory and checksum to --trace, so that the row and the log name the file that
// this run has read.
std::string check_flags() {
  if (FLAGS_trace.empty()) return "--workload=trace needs --trace=FILE";
  if (FLAGS_trace_speed != 0 &&
      !(FLAGS_trace_speed >= kLeastSpeed && FLAGS_trace_speed <= kMostSpeed)) {
    return "--trace_speed is 0, or 0.001 to 1000000";
  }
  const TraceFile& file = file_of_flag();
  if (file.trace == nullptr) return file.wrong;
  if (FLAGS_trace_speed != 0 && !file.trace->has_times) {
    return "--trace_speed needs a trace with a column time_us";
  }
  gflags::SetCommandLineOption("trace", file.name().c_str());
  return "";
}

const WorkloadRegistration registration({
    .name = "trace",
    .what = "the transactions of a CSV file (--trace), which `run --record` can write",
    .memory = "that of its rows, and seven times its file",
    .load_flags = {"trace"},
    .check_flags = check_flags,
    .make =
        [] {
          const TraceFile& file = file_of_flag();
          if (file.trace == nullptr) platform::refuse(file.wrong);
          return make_replay(file.name(), file.trace);
        },
    .has_commands = true,
    .ends = true,
});

}  // namespace

std::unique_ptr<Workload> make_replay(const std::string& name, std::shared_ptr<const Trace> trace) {
  return std::make_unique<Replay>(name, std::move(trace));
}

}  // namespace logjam::trace
