#include "proof/history/recorder.h"

#include <algorithm>
#include <csignal>
#include <string>

#include "platform/fatal.h"
#include "platform/test_value.h"

namespace logjam::write_history {
namespace {

// Makes worker 0 kill the process (SIGKILL) right after this number of its acknowledgements, when a
// lost commit would be noticed. 0: it does not. The ledger has ledger_die_after.
const platform::TestValue die_after("history_die_after");

constexpr size_t kMostWrites = 4096;  // of a transaction

size_t payload_bytes(size_t writes) {
  return sizeof(WritesHeader) + writes * sizeof(RecordedWrite);
}

}  // namespace

RecordingClient::RecordingClient(std::unique_ptr<Client> client, HistoryWriter& history,
                                 RowOrder& order, uint32_t worker, uint64_t count)
    : client_(std::move(client)),
      history_(history),
      area_(history.area(worker)),
      order_(order),
      worker_(worker),
      die_after_(die_after.get()),
      count_(count) {}

void RecordingTransaction::describe(RecordedWrite* to) const {
  for (const Change& change : changes_) {
    const RowHash after =
        change.row == nullptr ? change.after : hash_of(change.row, change.table->row_bytes());
    *to++ = {change.key, 0, change.before, after, change.table->id(), 0};
  }
}

Status RecordingTransaction::update(Table& table, Key key, std::byte** row) {
  const Status status = transaction_->update(table, key, row);
  if (status == Status::kOk) note_copy(table, key, *row, hash_of(*row, table.row_bytes()));
  return status;
}

Status RecordingTransaction::write(Table& table, Key key, std::byte** row) {
  const Status status = transaction_->write(table, key, row);
  if (status == Status::kOk) note_copy(table, key, *row, kUnknownRow);
  return status;
}

// Notes a copy of a row that the client may change. A copy that the client already has is the same
// change, in the state in which the client leaves it.
void RecordingTransaction::note_copy(Table& table, Key key, const std::byte* row, RowHash before) {
  const auto found = std::ranges::find(changes_, row, &Change::row);
  if (found == changes_.end()) changes_.push_back({&table, key, row, before, 0});
}

Status RecordingTransaction::insert(Table& table, Key key, const std::byte* row) {
  const Status status = transaction_->insert(table, key, row);
  if (status == Status::kOk) {
    changes_.push_back({&table, key, nullptr, kAbsentRow, hash_of(row, table.row_bytes())});
  }
  return status;
}

Status RecordingTransaction::erase(Table& table, Key key) {
  const Status status = transaction_->erase(table, key);
  if (status == Status::kOk) changes_.push_back({&table, key, nullptr, kUnknownRow, kAbsentRow});
  return status;
}

uint32_t RecordingClient::next() {
  committing_ = false;
  type_ = client_->next();
  return type_;
}

Status RecordingClient::execute(Transaction& txn) {
  if (committing_) pending_.pop_back();
  committing_ = false;
  transaction_.begin(txn);
  return client_->execute(transaction_);
}

uint64_t RecordingClient::committing() {
  history_.record_start();
  const size_t writes = transaction_.changes();
  if (writes > kMostWrites) {
    platform::fatal("--history records at most " + std::to_string(kMostWrites) +
                    " writes of a transaction, and one has " + std::to_string(writes));
  }
  auto* header = reinterpret_cast<WritesHeader*>(area_.next_payload());
  *header = {type_, static_cast<uint32_t>(writes)};
  transaction_.describe(reinterpret_cast<RecordedWrite*>(header + 1));
  pending_.push_back({make_id(worker_, ++count_), client_->committing(), type_});
  committing_ = true;
  return pending_.back().id;
}

void RecordingClient::serialized() {
  auto* header = reinterpret_cast<WritesHeader*>(area_.next_payload());
  auto* writes = reinterpret_cast<RecordedWrite*>(header + 1);
  for (uint32_t i = 0; i < header->writes; ++i) {
    writes[i].order = order_.next(writes[i].table, writes[i].key);
  }
  area_.intend(pending_.back().id, payload_bytes(header->writes));
  pending_.back().intended = true;
}

void RecordingClient::acknowledged(uint64_t number) {
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

bool RecordingClient::is_full(const HistoryArea& area) {
  return area.full_for(payload_bytes(kMostWrites));
}

bool RecordingClient::exhausted() const { return client_->exhausted() || is_full(area_); }

}  // namespace logjam::write_history
