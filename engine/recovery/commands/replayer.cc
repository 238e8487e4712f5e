#include "engine/recovery/commands/replayer.h"

namespace logjam {
namespace {

constexpr uint32_t kQueue = 0;  // of the reclaimer

}  // namespace

Replayer::Replayer(uint32_t id, Workload& workload, Database& database,
                   const ProtocolInfo& protocol, CommandFeed& feed, CommitOrder& order,
                   Epochs& epochs)
    : id_(id),
      types_(workload.spec().types.size()),
      feed_(feed),
      order_(order),
      epochs_(epochs),
      log_(order),
      reclaimer_(epochs, kQueue + 1, arena_) {
  context_.id = id;
  context_.database = &database;
  context_.log = &log_;
  context_.arena = &arena_;
  context_.reclaimer = &reclaimer_;
  context_.breakdown = &breakdown_;
  context_.ages = &ages_;
  client_ = workload.make_replayer(database);
  txn_ = protocol.make(context_);
}

void Replayer::run() {
  ReplayWait wait;
  while (!order_.stopped()) {
    Command command;
    const CommandFeed::Next next = feed_.take(id_, order_.committed(), &command);
    if (next == CommandFeed::Next::kDone) break;
    if (next == CommandFeed::Next::kLater) {
      epochs_.quiescent(id_);
      wait.once();
      continue;
    }
    wait = {};
    if (!replay(command)) break;
    feed_.release(command);
  }
  epochs_.leave(id_);
}

// Returns false if replay has stopped.
bool Replayer::replay(const Command& command) {
  std::string wrong = take(command);
  if (wrong.empty() && execute_ahead(command)) {
    wrong = log_.wrong();
  } else {
    if (!order_.wait_for_turn(command.index)) return false;
    if (wrong.empty()) wrong = execute_at_turn(command);
  }
  if (wrong.empty()) return true;
  order_.stop("the command of sequence number " + std::to_string(command.record->sequence) + " " +
              wrong);
  feed_.stop();
  return false;
}

// Gives the command to the client. Returns an error, or an empty string. Here and below, an error
// is the rest of a sentence that begins with "the command".
std::string Replayer::take(const Command& command) {
  const RecordHeader& record = *command.record;
  if (record.sequence <= command.previous) {
    return "comes after a command of sequence number " + std::to_string(command.previous);
  }
  if (!Version::is_sequence(record.sequence) || !read_command(record, &logged_)) {
    return "contradicts itself, or is none";
  }
  if (logged_.type >= types_ || !client_->take(logged_.type, logged_.input)) {
    return "is of type " + std::to_string(logged_.type) + " with " +
           std::to_string(logged_.input.size()) + " bytes, which the workload does not know";
  }
  context_.command_type = logged_.type;
  context_.command_input = logged_.input;
  return "";
}

// Executes the command before it has the turn, and commits it at its turn. Returns false if that
// was not possible. Then the command must be executed at its turn, and its failures so far are no
// errors.
bool Replayer::execute_ahead(const Command& command) {
  if (order_.committed() == command.index) return false;
  order_.begin(id_);
  reclaim();
  txn_->begin(false);
  SpeculativeTransaction ahead(*txn_);
  const Status status = client_->execute(ahead);
  order_.end(id_);
  if (!order_.wait_for_turn(command.index)) return false;
  order_.begin(id_);
  const bool committed = commit(command, status);
  if (!committed) {
    txn_->abort();
    ++repeated_;
  }
  order_.end(id_);
  return committed;
}

// Executes and commits the command, which has the turn. Returns an error, or an empty string.
std::string Replayer::execute_at_turn(const Command& command) {
  constexpr uint32_t kAttemptsBesideOthers = 2;
  for (uint32_t attempt = 0;; ++attempt) {
    const bool alone = attempt >= kAttemptsBesideOthers;
    alone ? order_.begin_alone(id_) : order_.begin(id_);
    reclaim();
    txn_->begin(attempt > 0);
    const Status status = client_->execute(*txn_);
    const bool committed = commit(command, status);
    std::string wrong;
    if (committed) {
      wrong = log_.wrong();
    } else if (status == Status::kRollback) {
      wrong = "wants to be rolled back now, and was committed by the run";
    } else if (alone) {
      wrong =
          "was aborted (" + std::string(name_of(txn_->abort_reason())) + ") though it runs alone";
    }
    if (!committed) txn_->abort();
    alone ? order_.end_alone(id_) : order_.end(id_);
    if (committed || !wrong.empty()) return wrong;
  }
}

// Commits the executed transaction, which has the turn. Returns false if it must be aborted: the
// commit is refused, or `status`, the result of the execution, does not allow it.
bool Replayer::commit(const Command& command, Status status) {
  if (status == Status::kAbort || status == Status::kRollback) return false;
  log_.expect(command.index, command.record->sequence, logged_.rows);
  const uint64_t number = client_->committing();
  if (txn_->commit() != Status::kOk) return false;
  client_->acknowledged(number);
  const uint32_t erased = reclaimer_.committed(kQueue);
  if (erased != 0) reclaimer_.durable(kQueue, erased);  // as it comes from the log
  return true;
}

// Removes erased tuples, as the run did, because scans would walk through all of them. Called
// between two transactions.
void Replayer::reclaim() {
  epochs_.quiescent(id_);
  reclaimer_.work();
}

}  // namespace logjam
