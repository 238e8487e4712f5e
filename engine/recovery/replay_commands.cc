#include "engine/recovery/replay_commands.h"

#include <algorithm>
#include <vector>

#include "logging/format/record.h"
#include "platform/atomic.h"
#include "platform/clock.h"

namespace logjam {
namespace {

// The log of re-executed transactions. It gives each the sequence number that its record has, looks
// at what the transaction would have logged, and writes nothing. Used by one thread.
class ReplayLog final : public LogScheme {
 public:
  ReplayLog() : LogScheme(LogConfig{.traits = {.commands = true}}) {}

  // The next transaction repeats this record.
  void expect(const RecordHeader& record) {
    sequence_ = record.sequence;
    logged_ = false;
    in_order_ = true;
  }
  // Of the transaction that has just committed: whether it wrote anything,
  bool logged() const { return logged_; }
  // whether its sequence number exceeds those of all that it read and overwrote,
  bool in_order() const { return in_order_; }
  // and how many rows it changed, if it wrote.
  uint16_t rows() const { return rows_; }

  LogReservation reserve(uint32_t, const Dependencies& deps, uint32_t bytes) override {
    in_order_ = std::max(deps.max_read, deps.max_overwritten) < sequence_;
    hole_.resize(std::max<size_t>(hole_.size(), bytes / sizeof(uint64_t)));
    return {.sequence = sequence_,
            .position = 0,
            .hole = reinterpret_cast<std::byte*>(hole_.data()),
            .bytes = bytes,
            .stream = 0};
  }
  CommitPoint publish(uint32_t, const LogReservation& reservation, bool ok, bool) override {
    LoggedCommand command;
    logged_ =
        ok && read_command(*reinterpret_cast<const RecordHeader*>(reservation.hole), &command);
    rows_ = command.rows;
    return {};
  }
  CommitPoint commit_read_only(uint32_t, const Dependencies&) override { return {}; }
  bool is_durable(const CommitPoint&) const override { return true; }
  void poll(uint32_t) override {}
  uint32_t flushers() const override { return 0; }
  void flush(uint32_t, bool) override {}
  bool idle() const override { return true; }
  uint64_t max_record_bytes() const override { return ~uint32_t{0}; }

 private:
  uint64_t sequence_ = 0;
  bool logged_ = false;
  bool in_order_ = true;
  uint16_t rows_ = 0;
  std::vector<uint64_t> hole_;
};

// Executes one command after the other in the place of the run's workers. Used by one thread.
class Replayer {
 public:
  Replayer(Workload& workload, Database& database, const ProtocolInfo& protocol)
      : types_(workload.types().size()) {
    context_.database = &database;
    context_.log = &log_;
    context_.arena = &arena_;
    context_.breakdown = &breakdown_;
    context_.ages = &ages_;
    client_ = workload.make_replayer(database);
    txn_ = protocol.make(context_);
  }

  // Executes the command in `record` and commits it. Returns an empty string, or what is wrong: the
  // rest of a sentence that begins with the command.
  std::string replay(const RecordHeader& record) {
    if (record.sequence <= last_) {
      return "comes behind a command of sequence number " + std::to_string(last_);
    }
    last_ = record.sequence;
    LoggedCommand command;
    if (!read_command(record, &command)) return "contradicts itself, or is none";
    if (command.type >= types_ || !client_->take(command.type, command.input)) {
      return "is of type " + std::to_string(command.type) + " with " +
             std::to_string(command.input.size()) + " bytes, which the workload does not know";
    }
    context_.command_type = command.type;
    context_.command_input = command.input;
    log_.expect(record);
    txn_->begin(false);
    return execute(command);
  }

 private:
  // The client has taken the command, and the transaction has begun.
  std::string execute(const LoggedCommand& command) {
    const Status status = client_->execute(*txn_);
    if (status == Status::kAbort) return aborted();
    if (status == Status::kRollback) {
      txn_->abort();
      return "wants to be rolled back now, and was committed by the run";
    }
    const uint64_t number = client_->committing();
    if (txn_->commit() != Status::kOk) return aborted();
    if (!log_.in_order()) return "read or overwrote what has a larger sequence number";
    const uint16_t rows = log_.logged() ? log_.rows() : 0;
    if (rows != command.rows) {
      return "changed " + std::to_string(rows) + " rows now, and " + std::to_string(command.rows) +
             " in the run";
    }
    client_->acknowledged(number);
    return "";
  }

  std::string aborted() {
    const AbortReason reason = txn_->abort_reason();
    txn_->abort();
    return "was aborted (" + std::string(name_of(reason)) + ") though it runs alone";
  }

  const size_t types_;
  ReplayLog log_;
  Arena arena_;
  Breakdown breakdown_;
  platform::atomic<uint64_t> ages_{0};
  WorkerContext context_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<ProtocolTransaction> txn_;
  uint64_t last_ = 0;  // the sequence number of the latest command
};

}  // namespace

RecoveryResult replay_commands(Workload& workload, Database& database, const LogFiles& files,
                               const RecoveryRule& rule, const ProtocolInfo& protocol,
                               double read_bytes_per_second) {
  RecoveryResult result;
  const uint64_t start = platform::now_ns();
  if (files.paths.size() != 1) {
    result.error =
        "a log of commands has one stream, this one has " + std::to_string(files.paths.size());
    return result;
  }
  ReadPaces paces(read_bytes_per_second);
  LogReader reader(files.paths[0], paces.of(files.paths[0]));
  result.error = reader.error();
  if (!result.error.empty()) return result;
  Replayer replayer(workload, database, protocol);
  RecordBatch batch;
  while (result.error.empty() && reader.next(&batch)) {
    for (const RecordHeader* record : batch.records) {
      ++result.records;
      result.bytes += record->bytes;
      if (record->kind == RecordKind::kVoid) continue;
      const std::string wrong = replayer.replay(*record);
      if (!wrong.empty()) {
        result.error =
            "the command of sequence number " + std::to_string(record->sequence) + " " + wrong;
        break;
      }
      ++result.transactions;
    }
  }
  result.tails = {reader.tail()};
  result.damage = find_damage(result.tails);
  result.cut = rule.cut(result.tails);
  result.seconds = static_cast<double>(platform::now_ns() - start) * 1e-9;
  return result;
}

}  // namespace logjam
