#include "workloads/trace/record.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "platform/assert.h"
#include "platform/clock.h"
#include "platform/fatal.h"
#include "platform/files.h"
#include "workloads/forwarding.h"

namespace logjam::trace {
namespace {

// Appends the bytes up to the last byte that is not 0, and at least one byte.
void append_hex(std::span<const std::byte> row, std::string* line) {
  constexpr char kDigits[] = "0123456789abcdef";
  while (row.size() > 1 && row.back() == std::byte{0}) row = row.first(row.size() - 1);
  for (const std::byte byte : row) {
    *line += kDigits[std::to_integer<unsigned>(byte) >> 4];
    *line += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
}

void append_number(uint64_t number, std::string* line) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  line->append(digits, end);
}

void append_place(std::string_view op, const Table& table, Key key, std::string* line) {
  *line += op;
  *line += ',';
  *line += table.schema().name;
  *line += ',';
  append_number(key, line);
}

void append_row(std::string_view op, const Table& table, Key key, const std::byte* row,
                std::string* line) {
  append_place(op, table, key, line);
  *line += ",,,";
  append_hex({row, table.row_bytes()}, line);
  *line += '\n';
}

// Forwards a client's calls to a transaction, and notes them.
class NotingTransaction final : public ForwardingTransaction {
  // Returns a visitor that notes a get of the first `bytes` bytes of each row.
  auto noting(Table& table, const RowVisitor& visit, uint32_t bytes) {
    return [this, &table, &visit, bytes](Key key, const std::byte* row) {
      calls_.push_back({.op = kGet, .table = &table, .key = key, .bytes = bytes});
      return visit(key, row);
    };
  }

 public:
  // Forgets the previous attempt. From now on forwards calls to `transaction`.
  void begin(Transaction& transaction) {
    transaction_ = &transaction;
    calls_.clear();
  }

  // Returns the lines of the calls. Call it when the attempt has made all its changes, and before
  // the attempt ends.
  std::string lines() const {
    std::string lines;
    for (const Call& call : calls_) {
      if (call.row != nullptr) {
        append_row(call.op, *call.table, call.key, call.row, &lines);
        continue;
      }
      append_place(call.op, *call.table, call.key, &lines);
      if (call.op == kScan) {
        lines += ',';
        append_number(call.to, &lines);
      } else if (call.op == kInsert) {
        lines += ",,," + call.copy;
      } else if (call.bytes != 0 && call.bytes < call.table->row_bytes()) {
        lines += ",,";
        append_number(call.bytes, &lines);
      }
      lines += '\n';
    }
    return lines;
  }

  using Transaction::insert;
  using Transaction::read;
  using Transaction::read_head;
  using Transaction::update;
  Status read(Table& table, Key key, const std::byte** row) override {
    return noted(kGet, table, key, transaction_->read(table, key, row));
  }
  Status read_head(Table& table, Key key, uint32_t bytes, const std::byte** row) override {
    const Status status = noted(kGet, table, key, transaction_->read_head(table, key, bytes, row));
    if (status == Status::kOk) calls_.back().bytes = bytes;
    return status;
  }
  Status update(Table& table, Key key, std::byte** row) override {
    const Status status = transaction_->update(table, key, row);
    return noted("update", table, key, status, *row);
  }
  Status write(Table& table, Key key, std::byte** row) override {
    const Status status = transaction_->write(table, key, row);
    return noted("put", table, key, status, *row);
  }
  Status insert(Table& table, Key key, const std::byte* row) override {
    const Status status = noted(kInsert, table, key, transaction_->insert(table, key, row));
    if (status == Status::kOk) append_hex({row, table.row_bytes()}, &calls_.back().copy);
    return status;
  }
  Status erase(Table& table, Key key) override {
    return noted("delete", table, key, transaction_->erase(table, key));
  }
  // Notes the range on which the transaction depends: up to the row that ended the visit.
  Status scan(Table& table, Key low, Key high, bool descending, const RowVisitor& visit) override {
    Call call{.op = kScan, .table = &table, .key = low, .to = high};
    const Status status =
        transaction_->scan(table, low, high, descending, [&](Key key, const std::byte* row) {
          const bool goes_on = visit(key, row);
          if (!goes_on) (descending ? call.key : call.to) = key;
          return goes_on;
        });
    calls_.push_back(std::move(call));
    return status;
  }
  Status scan_secondary(Table& table, size_t which, Key low, Key high, bool descending,
                        const RowVisitor& visit) override {
    return transaction_->scan_secondary(table, which, low, high, descending,
                                        noting(table, visit, table.row_bytes()));
  }
  Status read_secondary(Table& table, size_t which, Key key, const RowVisitor& visit) override {
    return transaction_->read_secondary(table, which, key, noting(table, visit, table.row_bytes()));
  }
  Status read_secondary_head(Table& table, size_t which, Key key, uint32_t bytes,
                             const RowVisitor& visit) override {
    return transaction_->read_secondary_head(table, which, key, bytes, noting(table, visit, bytes));
  }

 private:
  static constexpr std::string_view kGet = "get", kScan = "scan", kInsert = "insert";
  struct Call {
    std::string_view op;
    const Table* table = nullptr;
    Key key = 0;
    Key to = 0;                      // of a scan
    uint32_t bytes = 0;              // of a get: how many are read; 0: the whole row
    const std::byte* row = nullptr;  // the transaction's copy, which the client may change
    std::string copy = {};           // of an insert: the row
  };

  // Notes a call that returned `status`. A call that did not find the row it needs, or found a row
  // that may not be there, has only read.
  Status noted(std::string_view op, Table& table, Key key, Status status,
               const std::byte* row = nullptr) {
    if (status == Status::kAbort) return status;  // the attempt ends
    if (status != Status::kOk) {
      calls_.push_back({.op = kGet, .table = &table, .key = key});
    } else if (row == nullptr || std::ranges::find(calls_, row, &Call::row) == calls_.end()) {
      calls_.push_back({.op = op, .table = &table, .key = key, .row = row});
    }
    return status;
  }

  std::vector<Call> calls_;
};

class RecordedClient final : public ForwardingClient, private CommitObserver {
 public:
  RecordedClient(std::unique_ptr<Client> client, Recording& recording, uint64_t begun_ns)
      : ForwardingClient(std::move(client)),
        recording_(recording),
        begun_ns_(begun_ns),
        observer_(client_->commit_observer()) {}

  uint32_t next() override {
    committing_ = false;
    time_ns_ = platform::now_ns() - begun_ns_;
    return client_->next();
  }
  Status execute(Transaction& txn) override {
    if (committing_) pending_.pop_back();
    committing_ = false;
    transaction_.begin(txn);
    return client_->execute(transaction_);
  }
  uint64_t committing() override {
    LJ_ASSERT(!committing_);
    std::string lines = "begin,,,,,,";
    append_number(time_ns_ / 1000, &lines);
    lines += '\n' + transaction_.lines() + "commit\n";
    pending_.push_back({++count_, client_->committing(), std::move(lines)});
    committing_ = true;
    return count_;
  }
  void acknowledged(uint64_t number) override {
    const auto found = std::ranges::find(pending_, number, &Pending::number);
    LJ_ASSERT(found != pending_.end());
    recording_.append(found->lines);
    client_->acknowledged(found->of_client);
    pending_.erase(found);
  }
  CommitObserver* commit_observer() override { return this; }

 private:
  // A transaction that is committing, or has committed and is not acknowledged.
  struct Pending {
    uint64_t number;
    uint64_t of_client;  // the recorded client's number
    std::string lines;   // empty if they are in the file
  };

  void serialized() override {
    recording_.append(pending_.back().lines);
    pending_.back().lines.clear();
    if (observer_ != nullptr) observer_->serialized();
  }

  Recording& recording_;
  const uint64_t begun_ns_;
  CommitObserver* const observer_;  // of the recorded client
  NotingTransaction transaction_;
  std::deque<Pending> pending_;
  bool committing_ = false;  // the last attempt has begun its commit, which may fail
  uint64_t time_ns_ = 0;
  uint64_t count_ = 0;
};

class RecordedWorkload final : public ForwardingWorkload {
 public:
  RecordedWorkload(std::unique_ptr<Workload> workload, Recording& recording)
      : ForwardingWorkload(std::move(workload)),
        recording_(recording),
        begun_ns_(platform::now_ns()) {}

  std::unique_ptr<Client> make_client(Database& database, uint32_t worker, uint32_t workers,
                                      uint64_t seed) override {
    return std::make_unique<RecordedClient>(workload_->make_client(database, worker, workers, seed),
                                            recording_, begun_ns_);
  }

 private:
  Recording& recording_;
  const uint64_t begun_ns_;
};

}  // namespace

std::string unfinished_trace(const std::string& path) { return path + ".new"; }

Recording::Recording(std::string path) : path_(std::move(path)) {
  const int file = platform::create_file(unfinished_trace(path_));
  if (file < 0) {
    platform::refuse("cannot create --record=" + path_ + ": " + platform::error_text(-file));
  }
  platform::files().close(file);
  const platform::lock_guard<platform::mutex> hold(mutex_);
  file_.emplace(unfinished_trace(path_));
  file_->write(kRecordedColumns);
}

Recording::~Recording() {
  const platform::lock_guard<platform::mutex> hold(mutex_);
  if (file_) platform::files().remove(unfinished_trace(path_));
}

void Recording::write_rows(Database& database) {
  std::string lines;
  for (const auto& table : database.tables()) {
    const bool ordered = table->schema().kind == IndexKind::kOrdered;
    append("table," + table->schema().name + ",,," + std::to_string(table->row_bytes()) +
           (ordered ? ",ordered\n" : ",hash\n"));
  }
  for (const auto& table : database.tables()) {
    table->for_each_row([&](Key key, const std::byte* row) {
      lines.clear();
      append_row("row", *table, key, row, &lines);
      append(lines);
    });
  }
}

void Recording::append(std::string_view lines) {
  const platform::lock_guard<platform::mutex> hold(mutex_);
  LJ_ASSERT(file_.has_value());
  file_->write(lines);
}

std::string Recording::keep() {
  const platform::lock_guard<platform::mutex> hold(mutex_);
  file_.reset();
  const int error = platform::files().rename(unfinished_trace(path_), path_);
  if (error == 0) return "";
  return "cannot create --record=" + path_ + ": " + platform::error_text(error);
}

std::unique_ptr<Workload> recorded(std::unique_ptr<Workload> workload, Recording& recording) {
  return std::make_unique<RecordedWorkload>(std::move(workload), recording);
}

}  // namespace logjam::trace
