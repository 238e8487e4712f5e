#include "proof/history/with_history.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "platform/assert.h"
#include "platform/fatal.h"
#include "platform/test_value.h"
#include "proof/history/file.h"
#include "proof/history/history_files.h"
#include "workloads/forwarding.h"

DECLARE_string(history);
DECLARE_uint64(history_mb);

namespace logjam {
namespace {

using namespace write_history;

// Makes worker 0 kill the process (SIGKILL) right after this number of its acknowledgements; 0: no
// kill. A check can then notice a lost commit. The ledger uses ledger_die_after instead.
const platform::TestValue die_after("history_die_after");

constexpr size_t kMostWrites = 4096;  // of a transaction

std::string too_many_writes(uint64_t writes) {
  return "--history records at most " + std::to_string(kMostWrites) +
         " writes of a transaction, and one has " + std::to_string(writes);
}

size_t payload_bytes(size_t writes) {
  return sizeof(WritesHeader) + writes * sizeof(RecordedWrite);
}

// Forwards a client's calls to a transaction, and notes which rows these calls change.
class RecordingTransaction final : public ForwardingTransaction {
 public:
  // Forgets the previous attempt. From now on forwards calls to `transaction`.
  void begin(Transaction& transaction) {
    transaction_ = &transaction;
    changes_.clear();
  }
  size_t changes() const { return changes_.size(); }
  // Writes to `to` one RecordedWrite for each change, but does not set `order`. Call describe()
  // when the attempt has made all its changes, and before the attempt ends.
  void describe(RecordedWrite* to) const {
    for (const Change& change : changes_) {
      const RowHash after =
          change.row == nullptr ? change.after : hash_of(change.row, change.table->row_bytes());
      *to++ = {change.key, 0, change.before, after, change.table->id(), 0};
    }
  }

  Status update(Table& table, Key key, std::byte** row) override {
    const Status status = transaction_->update(table, key, row);
    if (status == Status::kOk) note_copy(table, key, *row, hash_of(*row, table.row_bytes()));
    return status;
  }
  Status write(Table& table, Key key, std::byte** row) override {
    const Status status = transaction_->write(table, key, row);
    if (status == Status::kOk) note_copy(table, key, *row, kUnknownRow);
    return status;
  }
  Status insert(Table& table, Key key, const std::byte* row) override {
    const Status status = transaction_->insert(table, key, row);
    if (status == Status::kOk) {
      changes_.push_back({&table, key, nullptr, kAbsentRow, hash_of(row, table.row_bytes())});
    }
    return status;
  }
  Status erase(Table& table, Key key) override {
    const Status status = transaction_->erase(table, key);
    if (status == Status::kOk) changes_.push_back({&table, key, nullptr, kUnknownRow, kAbsentRow});
    return status;
  }

 private:
  struct Change {
    Table* table;
    Key key;
    const std::byte* row;  // the transaction's copy, which the client may change; null: see `after`
    RowHash before, after;
  };
  // Notes that the client may change this copy of a row. Does nothing if the copy is noted already.
  void note_copy(Table& table, Key key, const std::byte* row, RowHash before) {
    const auto found = std::ranges::find(changes_, row, &Change::row);
    if (found == changes_.end()) changes_.push_back({&table, key, row, before, 0});
  }

  std::vector<Change> changes_;
};

// Wraps another client, and records this client's writes and acknowledgements in a history. Writes
// an entry's payload when its transaction is about to commit, and calls intend() at the
// serialization point, after which the commit cannot fail. A transaction that writes nothing has no
// entry, but the counters, one for each type, count all acknowledged transactions.
class RecordingClient final : public ForwardingClient, private CommitObserver {
 public:
  // `history` and `order` outlive the client. The client's first id is make_id(worker, count + 1).
  RecordingClient(std::unique_ptr<Client> client, HistoryWriter& history, RowOrder& order,
                  uint32_t worker, uint64_t count)
      : ForwardingClient(std::move(client)),
        history_(history),
        area_(history.area(worker)),
        order_(order),
        worker_(worker),
        die_after_(die_after.get()),
        count_(count) {}

  uint32_t next() override {
    committing_ = false;
    type_ = client_->next();
    return type_;
  }
  Status execute(Transaction& txn) override {
    if (committing_) {
      LJ_ASSERT(!pending_.back().intended);
      pending_.pop_back();
    }
    committing_ = false;
    transaction_.begin(txn);
    return client_->execute(transaction_);
  }
  uint64_t committing() override {
    history_.record_start();
    const size_t writes = transaction_.changes();
    if (writes > kMostWrites) {
      platform::fatal(too_many_writes(writes));
    }
    LJ_ASSERT(!committing_ && !area_.full_for(payload_bytes(writes)));
    auto* header = reinterpret_cast<WritesHeader*>(area_.next_payload());
    *header = {type_, static_cast<uint32_t>(writes)};
    transaction_.describe(reinterpret_cast<RecordedWrite*>(header + 1));
    pending_.push_back({make_id(worker_, ++count_), client_->committing(), type_});
    committing_ = true;
    return pending_.back().id;
  }
  void acknowledged(uint64_t number) override {
    const auto found = std::ranges::find(pending_, number, &Pending::id);
    if (found == pending_.end()) {
      platform::fatal("transaction " + show(number) + " was acknowledged without having committed",
                      platform::kExitViolation);
    }
    if (found->intended) area_.acknowledge(number);
    area_.count(found->type);
    client_->acknowledged(found->number);
    pending_.erase(found);
    if (worker_ == 0 && ++acknowledgements_ == die_after_) std::raise(SIGKILL);
  }
  CommitObserver* commit_observer() override { return this; }
  bool is_long() const override { return client_->is_long(); }
  bool exhausted() const override { return client_->exhausted() || is_full(area_); }

  static bool is_full(const HistoryArea& area) { return area.full_for(payload_bytes(kMostWrites)); }

 private:
  // A transaction that is committing, or has committed and is not acknowledged.
  struct Pending {
    TransactionId id;
    uint64_t number;  // the wrapped client's number of the transaction
    uint32_t type;
    bool intended = false;  // has an entry
  };

  void serialized() override {
    LJ_ASSERT(committing_ && !pending_.back().intended);
    auto* header = reinterpret_cast<WritesHeader*>(area_.next_payload());
    auto* writes = reinterpret_cast<RecordedWrite*>(header + 1);
    for (uint32_t i = 0; i < header->writes; ++i) {
      writes[i].order = order_.next(writes[i].table, writes[i].key);
    }
    area_.intend(pending_.back().id, payload_bytes(header->writes));
    pending_.back().intended = true;
  }

  HistoryWriter& history_;
  HistoryArea& area_;
  RowOrder& order_;
  const uint32_t worker_;
  const uint64_t die_after_;  // --test=history_die_after
  RecordingTransaction transaction_;
  std::deque<Pending> pending_;
  bool committing_ = false;  // the last attempt has begun its commit, which may fail
  uint64_t count_;           // the count in the last id
  uint64_t acknowledgements_ = 0;
  uint32_t type_ = 0;
};

class WithHistory final : public ForwardingWorkload {
 public:
  WithHistory(std::string name, std::unique_ptr<Workload> workload)
      : ForwardingWorkload(std::move(workload)), name_(std::move(name)) {}
  ~WithHistory() override {
    if (history_.writer != nullptr) history_.writer->record_end();
  }

  Specification spec() const override {
    Specification spec = workload_->spec();
    spec.description += ", history in " + FLAGS_history;
    spec.caution = [this, of_workload = spec.caution](double tps) -> std::string {
      const HistoryWriter* writer = history_.writer.get();
      std::string full = writer ? writer->note_if_full(RecordingClient::is_full) : "";
      return !full.empty() || of_workload == nullptr ? full : of_workload(tps);
    };
    return spec;
  }

  std::unique_ptr<Client> make_client(Database& database, uint32_t worker, uint32_t workers,
                                      uint64_t seed) override {
    return std::make_unique<RecordingClient>(
        workload_->make_client(database, worker, workers, seed), *history_.writer, *order_, worker,
        worker < history_.counts.size() ? history_.counts[worker] : 0);
  }
  void start_history(uint32_t workers, const HistoryOrigin& origin) override {
    const Specification spec = workload_->spec();
    if (spec.largest.rows > kMostWrites) platform::refuse(too_many_writes(spec.largest.rows));
    const auto counters = static_cast<uint32_t>(spec.types.size());
    parameters_ = {name_,          counters,     {},         origin.unsafe,
                   origin.ordinal, origin.after, origin.log, origin.serializable};
    history_ = start_life(FLAGS_history, workers, parameters_);
    order_ = std::make_unique<RowOrder>();
    if (RecordingClient::is_full(history_.writer->area(0))) {
      platform::refuse("--history_mb=" + std::to_string(FLAGS_history_mb) + " is too small for " +
                       std::to_string(workers) + " workers");
    }
    workload_->start_history(workers, origin);
  }
  void keep_history() override {
    keep_life(FLAGS_history, parameters_, *history_.writer);
    workload_->keep_history();
  }

  std::vector<Check> verify(Database& database) override {
    std::vector<Check> checks = workload_->verify(database);
    if (history_.writer != nullptr) {  // the run has ended
      history_.writer->record_end();
      checks.push_back(check_history(database, FLAGS_history, name_, type_names()));
    }
    return checks;
  }
  std::vector<Check> verify_history(Database& database, const std::string& path) override {
    return {check_history(database, path, name_, type_names())};
  }

 private:
  std::vector<std::string_view> type_names() const {
    std::vector<std::string_view> names;
    for (const TypeSpecification& type : workload_->spec().types) names.push_back(type.name);
    return names;
  }

  const std::string name_;
  std::unique_ptr<RowOrder> order_;  // null in a recovery, which does not need its 2 MiB
  HistoryFileParameters parameters_;
  StartedHistory history_;
};

}  // namespace

std::unique_ptr<Workload> make_with_history(const WorkloadInfo& info) {
  std::unique_ptr<Workload> workload = info.make();
  if (FLAGS_history.empty() || info.keeps_history) return workload;
  return std::make_unique<WithHistory>(std::string(info.name), std::move(workload));
}

}  // namespace logjam
