#include "engine/recovery/commands/replay_commands.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/recovery/commands/command_feed.h"
#include "engine/transaction.h"
#include "logging/format/record.h"
#include "logging/log_scheme.h"
#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/spin.h"
#include "platform/thread.h"
#include "platform/thread_annotations.h"

namespace logjam {
namespace {

// Waits for another thread of the replay, usually for microseconds. A thread that gives up its core
// may get a core again only after milliseconds, if other programs use the cores. So a thread gives
// up its core only after many pauses.
class ReplayWait {
 public:
  void once() {
    constexpr uint32_t kPauses = 1000;
    if (pauses_ < kPauses) {
      ++pauses_;
      platform::pause();
    } else {
      wait_.once();
    }
  }

 private:
  uint32_t pauses_ = 0;
  platform::SpinWait wait_;
};

// The order in which the threads of a replay commit, which is the order of the log.
//
// A thread may execute its command at any time, but commits it only at the command's turn. The turn
// passes on when the command is certain to commit: the rows that the command writes are locked, and
// the rows that it has read are validated. The command's rows are then installed while the next
// command begins its commit. So the result is that of a serial execution in the order of the log: a
// command validates after all earlier commands have locked their rows, and installs nothing before
// its turn. A command that is executed at its turn may still fail its validation, because other
// threads insert or remove absent tuples in index nodes. So a thread may claim the whole database.
//
// Protocol. Only the thread that has the turn stores `turn_` (release). The thread that waits for
// the turn loads `turn_` (acquire), and so sees the locks of all earlier commands. The thread that
// has the turn may set `alone_`, and clears `alone_` at its end_alone(). Meanwhile the turn may
// have passed to a thread that waits in begin(). A thread that begins sets its `active_` and then
// loads `alone_`. The thread that has the turn sets `alone_` and then loads the `active_` of all
// other threads. These accesses are seq_cst, so at least one of the two threads sees the other's
// store, and waits. An active thread waits for no turn before end(), so there is no deadlock.
class CommitOrder {
 public:
  explicit CommitOrder(uint32_t threads) : active_(threads) {}

  uint64_t committed() const { return turn_.load(platform::memory_order_acquire); }
  bool stopped() const { return stopped_.load(platform::memory_order_acquire); }

  // Waits for the turn of command `index`. Returns false if replay has stopped.
  bool wait_for_turn(uint32_t thread, uint64_t index) const {
    LJ_ASSERT(!active_[thread]->load(platform::memory_order_relaxed));
    for (ReplayWait wait; committed() != index; wait.once()) {
      if (stopped()) return false;
    }
    return true;
  }
  // Passes the turn to the next command, because command `index` is certain to commit.
  void pass(uint64_t index) {
    LJ_ASSERT(index == committed());
    turn_.store(index + 1, platform::memory_order_release);
  }
  void stop(uint64_t index, std::string error) {
    LJ_ASSERT(index == committed() && !stopped());
    error_ = std::move(error);
    stopped_.store(true, platform::memory_order_release);
  }
  // Returns the error or an empty string. Join the threads of the replay first.
  const std::string& error() const { return error_; }

  // Waits while another thread has the database alone. Then `thread` may use it until end().
  void begin(uint32_t thread) {
    auto& active = *active_[thread];
    LJ_ASSERT(!active.load(platform::memory_order_relaxed));
    active.store(true, platform::memory_order_seq_cst);
    while (alone_.load(platform::memory_order_seq_cst)) {
      active.store(false, platform::memory_order_release);
      for (ReplayWait wait; alone_.load(platform::memory_order_acquire);) wait.once();
      active.store(true, platform::memory_order_seq_cst);
    }
  }
  void end(uint32_t thread) {
    LJ_ASSERT(active_[thread]->load(platform::memory_order_relaxed));
    active_[thread]->store(false, platform::memory_order_release);
  }

  // Gives `thread`, whose command has the turn, the database alone until end_alone().
  void begin_alone(uint32_t thread) {
    begin(thread);
    LJ_ASSERT(!alone_.load(platform::memory_order_relaxed));
    alone_.store(true, platform::memory_order_seq_cst);
    for (uint32_t other = 0; other < active_.size(); ++other) {
      if (other == thread) continue;
      for (ReplayWait wait; active_[other]->load(platform::memory_order_seq_cst);) wait.once();
    }
  }
  void end_alone(uint32_t thread) {
    LJ_ASSERT(alone_.load(platform::memory_order_relaxed));
    alone_.store(false, platform::memory_order_release);
    end(thread);
  }

 private:
  alignas(platform::kCacheLine) platform::atomic<uint64_t> turn_{0};
  alignas(platform::kCacheLine) platform::atomic<bool> alone_{false};
  platform::atomic<bool> stopped_{false};
  std::string error_;  // stored before `stopped_`
  std::vector<platform::Padded<platform::atomic<bool>>> active_;
};

// The log scheme of a replay. Gives each transaction the sequence number of its record in the
// replayed log, and writes no log. Passes the turn on, before the rows are installed, if wrong()
// finds no error. One replaying thread owns the object.
class ReplayLog final : public LogScheme {
 public:
  explicit ReplayLog(CommitOrder& order)
      : LogScheme(LogConfig{.traits = {.commands = true}}), order_(order) {}

  // Announces the next transaction, which repeats command `index`. This command has the turn. In
  // the run, it had the sequence number `sequence` and changed `rows` rows.
  void expect(uint64_t index, uint64_t sequence, uint16_t rows) {
    index_ = index;
    sequence_ = sequence;
    expected_rows_ = rows;
    rows_ = 0;
    in_order_ = true;
  }
  std::string wrong() const {
    if (!in_order_) return "read or overwrote what has a larger sequence number";
    if (rows_ == expected_rows_) return "";
    return "changed " + std::to_string(rows_) + " rows now, and " + std::to_string(expected_rows_) +
           " in the run";
  }

  LogReservation reserve(uint32_t, const Dependencies& deps, uint32_t bytes) override {
    in_order_ = std::max(deps.max_read, deps.max_overwritten) < sequence_;
    hole_.resize(std::max<size_t>(hole_.size(), bytes / sizeof(uint64_t)));
    return {.sequence = sequence_,
            .position = 0,
            .hole = reinterpret_cast<std::byte*>(hole_.data()),
            .bytes = bytes,
            .stream = 0};
  }
  CommitPoint publish(uint32_t, const LogReservation& reservation, RecordRole role) override {
    LoggedCommand command;
    if (role != RecordRole::kVoid &&
        read_command(*reinterpret_cast<const RecordHeader*>(reservation.hole), &command)) {
      rows_ = command.rows;
    }
    return passed_on();
  }
  // Passes the turn on if the record says that the transaction changed nothing. No run writes such
  // a record, but a damaged or forged log may contain one.
  CommitPoint commit_read_only(uint32_t, const Dependencies&) override { return passed_on(); }
  bool is_durable(const CommitPoint&) const override { return true; }
  void poll(uint32_t) override {}
  uint32_t flushers() const override { return 0; }
  void flush(uint32_t, bool) override {}
  bool idle() const override { return true; }
  uint64_t max_record_bytes() const override { return ~uint32_t{0}; }

 private:
  CommitPoint passed_on() {
    if (in_order_ && rows_ == expected_rows_) order_.pass(index_);
    return {};
  }

  CommitOrder& order_;
  uint64_t index_ = 0;
  uint64_t sequence_ = 0;
  uint16_t expected_rows_ = 0;
  uint16_t rows_ = 0;
  bool in_order_ = true;
  std::vector<uint64_t> hole_;
};

// The transaction of an attempt before the command's turn. It aborts if a row is missing, or if an
// insert finds a row, because an earlier command of the log may still insert or erase this row. A
// client that saw a missing or unexpected row might end the process.
class SpeculativeTransaction final : public Transaction {
 public:
  explicit SpeculativeTransaction(Transaction& txn) : txn_(txn) {}

  using Transaction::insert;
  using Transaction::read;
  using Transaction::update;
  Status read(Table& table, Key key, const std::byte** row) override {
    return as_expected(txn_.read(table, key, row));
  }
  Status update(Table& table, Key key, std::byte** row) override {
    return as_expected(txn_.update(table, key, row));
  }
  Status write(Table& table, Key key, std::byte** row) override {
    return as_expected(txn_.write(table, key, row));
  }
  Status insert(Table& table, Key key, const std::byte* row) override {
    return as_expected(txn_.insert(table, key, row));
  }
  Status erase(Table& table, Key key) override { return as_expected(txn_.erase(table, key)); }
  Status scan(Table& table, Key low, Key high, bool descending, const RowVisitor& visit) override {
    return txn_.scan(table, low, high, descending, visit);
  }
  Status scan_secondary(Table& table, size_t which, Key low, Key high, bool descending,
                        const RowVisitor& visit) override {
    return txn_.scan_secondary(table, which, low, high, descending, visit);
  }
  Status read_secondary(Table& table, size_t which, Key key, const RowVisitor& visit) override {
    return txn_.read_secondary(table, which, key, visit);
  }

 private:
  static Status as_expected(Status status) {
    return status == Status::kOk ? Status::kOk : Status::kAbort;
  }

  Transaction& txn_;
};

constexpr uint32_t kQueue = 0;  // the reclaimer's only queue

// One thread of a replay of commands. It executes a command before the command's turn, waits for
// the turn, and commits. The commit is refused if an earlier command has overwritten a row that the
// execution had read. Then the thread executes the command again, at the command's turn. After two
// such attempts the thread gets the database to itself. Then a failure is an error.
//
// run() runs on a thread of its own. Call the other functions before or after it.
class Replayer {
 public:
  // The threads share `feed`, `order` and `epochs`, which outlive the threads. `id` counts from 0.
  Replayer(uint32_t id, Workload& workload, Database& database, const ProtocolInfo& protocol,
           CommandFeed& feed, CommitOrder& order, Epochs& epochs);

  void run();

  // Returns how many speculative executions had to be repeated.
  uint64_t repeated() const { return repeated_; }

 private:
  bool replay(const Command& command) LJ_REQUIRES(platform::worker_role);
  std::string take(const Command& command);
  bool execute_ahead(const Command& command) LJ_REQUIRES(platform::worker_role);
  std::string execute_at_turn(const Command& command) LJ_REQUIRES(platform::worker_role);
  bool commit(const Command& command, Status status) LJ_REQUIRES(platform::worker_role);
  void reclaim() LJ_REQUIRES(platform::worker_role);

  const uint32_t id_;
  const size_t types_;
  CommandFeed& feed_;
  CommitOrder& order_;
  Epochs& epochs_;
  ReplayLog log_;
  Arena arena_;
  Reclaimer reclaimer_;
  Breakdown breakdown_;
  platform::atomic<uint64_t> ages_{0};
  WorkerContext context_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<ProtocolTransaction> txn_;
  LoggedCommand logged_;  // the command that the client has taken
  uint64_t repeated_ = 0;
};

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
  LJ_ASSERT(protocol.optimistic || epochs.workers() == 1);
  client_ = workload.make_replayer(database);
  txn_ = protocol.make(context_);
}

void Replayer::run() {
  const platform::ThreadRole::Scope role(platform::worker_role);
  ReplayWait wait;
  while (!order_.stopped()) {
    Command command;
    const CommandFeed::Next next = feed_.take(id_, order_.committed(), &command);
    if (next == CommandFeed::Next::kDone) break;
    if (next == CommandFeed::Next::kLater) {
      epochs_.note_quiescent(id_);
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
    if (!order_.wait_for_turn(id_, command.index)) return false;
    if (wrong.empty()) wrong = execute_at_turn(command);
  }
  if (wrong.empty()) return true;
  order_.stop(command.index, "the command of sequence number " +
                                 std::to_string(command.record->sequence) + " " + wrong);
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

// Executes the command before its turn, and commits it at its turn. Returns false if this fails,
// which is no error: execute_at_turn() repeats the command.
bool Replayer::execute_ahead(const Command& command) {
  if (order_.committed() == command.index) return false;
  order_.begin(id_);
  reclaim();
  txn_->begin(false);
  SpeculativeTransaction ahead(*txn_);
  const Status status = client_->execute(ahead);
  order_.end(id_);
  if (!order_.wait_for_turn(id_, command.index)) return false;
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

// Commits the transaction, whose execution returned `status`. Returns false if it must be aborted.
bool Replayer::commit(const Command& command, Status status) {
  if (status == Status::kAbort || status == Status::kRollback) return false;
  log_.expect(command.index, command.record->sequence, logged_.rows);
  const uint64_t number = client_->committing();
  if (txn_->commit() != Status::kOk) return false;
  client_->acknowledged(number);
  const uint32_t erased = reclaimer_.note_committed(kQueue);
  if (erased != 0) reclaimer_.note_durable(kQueue, erased);  // because the command is in the log
  return true;
}

// Removes erased tuples, so that scans need not walk through them.
void Replayer::reclaim() {
  epochs_.note_quiescent(id_);
  reclaimer_.work();
}

}  // namespace

std::string check_commands(const WorkloadInfo& workload, const ProtocolInfo& protocol,
                           const SchemeInfo& scheme) {
  if (!scheme.traits.commands) return "";
  const std::string log = "--log=" + std::string(scheme.name) + " logs commands, and ";
  if (!workload.has_commands) return log + "--workload=" + std::string(workload.name) + " has none";
  if (protocol.serial_in_commit_order) return "";
  return log + "--cc=" + std::string(protocol.name) +
         " promises no serial order in which they could be executed again";
}

uint32_t replaying_threads(const ProtocolInfo& protocol, uint32_t threads) {
  return protocol.optimistic ? threads : 1;
}

RecoveryResult replay_commands(Workload& workload, Database& database, const LogFiles& files,
                               const RecoveryRule& rule, const ProtocolInfo& protocol,
                               uint32_t threads, double read_bytes_per_second) {
  RecoveryResult result;
  const uint64_t start = platform::now_ns();
  if (files.paths.size() != 1) {
    result.error =
        "a log of commands has one stream, this one has " + std::to_string(files.paths.size());
    return result;
  }
  DevicePaces paces(read_bytes_per_second);
  LogReader reader(files, 0, paces.of(files.paths[0]));
  result.error = reader.error();
  if (!result.error.empty()) return result;

  threads = replaying_threads(protocol, threads);
  CommandFeed feed(reader, threads);
  CommitOrder order(threads);
  Epochs epochs(threads);
  std::vector<std::unique_ptr<Replayer>> replayers;
  for (uint32_t id = 0; id < threads; ++id) {
    replayers.push_back(
        std::make_unique<Replayer>(id, workload, database, protocol, feed, order, epochs));
  }
  std::vector<platform::thread> running;
  running.emplace_back([&feed] { feed.read(); });
  for (auto& replayer : replayers) running.emplace_back([&replayer] { replayer->run(); });
  for (auto& thread : running) thread.join();
  uint64_t repeated = 0;
  for (const auto& replayer : replayers) repeated += replayer->repeated();
  VLOG(1) << repeated << " speculative executions had to be repeated";

  result.error = order.error();
  result.transactions = order.committed();
  result.records = feed.records();
  result.bytes = feed.bytes();
  result.tails = {reader.tail()};
  result.damage = find_damage(result.tails);
  result.cut = rule.cut(result.tails);
  result.seconds = static_cast<double>(platform::now_ns() - start) * 1e-9;
  return result;
}

}  // namespace logjam
