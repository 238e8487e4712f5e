#include "engine/run/worker.h"

#include <algorithm>
#include <utility>

#include "platform/assert.h"
#include "platform/clock.h"
#include "platform/spin.h"

namespace logjam {

using platform::ticks;

Worker::Worker(uint32_t id, const RunOptions& options, Workload& workload, Database& database,
               const ProtocolInfo& protocol, LogScheme& scheme, RunControl& control, Arena& arena,
               WorkerTimeline* timeline)
    : options_(options),
      workload_(workload),
      scheme_(scheme),
      control_(control),
      timeline_(timeline),
      protocol_(protocol),
      commands_(scheme.traits().commands),
      clock_(database.commit_clock().tracks() ? &database.commit_clock() : nullptr),
      reclaimer_(control.epochs, CommitPoint::kQueues, arena, protocol.keeps_old_versions),
      breakdown_(options.breakdown, id, &control.window),
      context_{.id = id, .options = options},
      pipeline_(scheme, id, options.pipeline_depth),
      random_(options.seed * platform::kGoldenRatio + id + 1),
      yield_(options.worker_class) {
  for (WorkerStats& stats : stats_) {
    stats.by_type = std::vector<EndedTransactions<platform::Counter>>(workload.spec().types.size());
  }
  context_.database = &database;
  context_.log = &scheme;
  context_.arena = &arena;
  context_.reclaimer = &reclaimer_;
  context_.breakdown = &breakdown_;
  context_.ages = &control.ages;
  context_.read_stamps = control.read_stamps ? &*control.read_stamps : nullptr;
  context_.acknowledge_durable = [this] {
    platform::worker_role.assume();
    scheme_.poll(context_.id);
    acknowledge_durable();
  };
  client_ = workload.make_client(database, id, options.threads, options.seed);
  arrivals_.emplace(options, client_->arrivals_ns());
  context_.observer = client_->commit_observer();
  txn_ = protocol.make(context_);
}

void Worker::run() {
  enter_phase(control_.phase.load(platform::memory_order_acquire));
  if (arrivals_->open()) begin_arrivals();
  bool exhausted = false;
  while (true) {
    const Phase phase = control_.phase.load(platform::memory_order_acquire);
    if (phase != phase_) enter_phase(phase);
    if (phase == Phase::kDrain) break;
    const bool enough = options_.transactions != 0 && begun_ == options_.transactions;
    exhausted = enough || client_->exhausted();
    if (exhausted) break;
    reclaimer_.work();
    answer_question();
    breakdown_.start_transaction();
    const uint64_t start = next_start();
    if (start == 0) continue;  // the phase changed during the wait
    yield_.at(start);
    ++begun_;
    one_transaction(start);
    if (options_.think_ns != 0) {
      const double think_ns = static_cast<double>(options_.think_ns) * exponential(random_.next());
      think_until_ = ticks() + platform::ns_to_ticks(think_ns);
    }
    // Under --commit=sync the worker has no commit in flight here, so it does not poll. A poll
    // might start a write, wait for that write, and hinder the thread that leads the flush.
    if (options_.commit == CommitPolicy::kSync) continue;
    const ActivityScope scope(breakdown_, Activity::kLogWork);
    context_.acknowledge_durable();
  }
  control_.epochs.leave(context_.id);
  breakdown_.stop();
  if (arrivals_->open() && !exhausted) count_waiting_arrivals();
  while (!pipeline_.empty()) {
    pipeline_.wait();
    acknowledge_durable();
  }
  wait_for_durable_prefix();
  if (exhausted) {
    platform::atomic_max(control_.exhausted_ns, platform::now_ns());
    control_.exhausted.fetch_add(1, platform::memory_order_release);
  }
}

void Worker::enter_phase(Phase phase) {
  phase_ = phase;
  measured_ = control_.window.has_begun();
}

void Worker::begin_arrivals() {
  arrivals_->begin(ticks(), random_.next());
  if (timeline_ != nullptr && arrivals_->rate() != nullptr) {
    timeline_->begin_arrivals(*arrivals_->rate(), arrivals_->next());
  }
}

// Waits for the next transaction's arrival, or to the end of the think time. Returns the intended
// start, in ticks. This time may be past: in an open loop the delay counts as latency. Returns 0 if
// the phase changed during the wait.
uint64_t Worker::next_start() {
  if (!arrivals_->open()) {
    if (think_until_ != 0 && !wait_until(think_until_)) return 0;
    return ticks();
  }
  if (!wait_until(arrivals_->next())) return 0;
  if (arrivals_->next() >= control_.window.begun()) counts().arrivals.add(1);
  const uint64_t arrival = arrivals_->take(random_.next());
  if (timeline_ != nullptr && arrivals_->rate() != nullptr) {
    timeline_->next_arrival.store(arrivals_->next(), platform::memory_order_relaxed);
  }
  return arrival;
}

// Returns true at `time`, in ticks, or false if the phase changed before.
bool Worker::wait_until(uint64_t time) {
  // The usual delay of a wake-up by the kernel. The worker spins through shorter waits.
  constexpr double kSleepLatenessNs = 80'000;
  const ActivityScope scope(breakdown_, Activity::kIdle);
  while (true) {
    const uint64_t now = ticks();
    if (now >= time) return true;
    if (!control_.in(phase_)) return false;
    context_.acknowledge_durable();
    control_.epochs.note_quiescent(context_.id);
    answer_question();
    const double left_ns = platform::ticks_to_ns(time - now) - kSleepLatenessNs;
    if (left_ns <= 0) {
      platform::pause();
    } else if (pipeline_.empty()) {
      // Other workers' writes let this worker acknowledge a commit beyond the durable prefix.
      const uint64_t most_ns = beyond_prefix_.empty() ? 20'000'000 : 20'000;
      platform::sleep_ns(std::min(static_cast<uint64_t>(left_ns), most_ns));
    } else {
      scheme_.park_until_durable(context_.id, pipeline_.next(), static_cast<uint64_t>(left_ns));
    }
  }
}

// Counts the arrivals before the end of the measured phase whose transactions have not begun.
void Worker::count_waiting_arrivals() {
  const uint64_t begin = control_.window.begun(), end = control_.window.ended();
  const uint64_t waiting = arrivals_->visit_until(end, [&](uint64_t arrival, uint64_t count) {
    if (arrival < begin) return;
    counts().arrivals.add(count);
    counts().writer_commit.record(end - arrival, count);
  });
  counts().backlog.add(waiting);
  if (timeline_ != nullptr) timeline_->next_arrival.store(0, platform::memory_order_relaxed);
}

void Worker::one_transaction(uint64_t start) {
  if (timeline_ != nullptr) timeline_->running.store(start, platform::memory_order_relaxed);
  try_until_it_ends(start);
  if (timeline_ != nullptr) timeline_->running.store(0, platform::memory_order_release);
}

void Worker::try_until_it_ends(uint64_t start) {
  PendingCommit txn;
  txn.start = start;
  const uint64_t begun = arrivals_->open() ? ticks() : start;
  txn.type = client_->next();
  if (txn.type >= counts().by_type.size()) refuse_type(txn.type);
  for (uint32_t attempt = 0;; ++attempt) {
    control_.epochs.note_quiescent(context_.id);
    txn_->begin(attempt > 0);
    if (execute(begun, &txn)) break;
    if (timeline_ != nullptr) timeline_->aborts.add(1);
    if (!control_.in(Phase::kDrain)) {
      counts().aborts[static_cast<size_t>(txn_->abort_reason())].add(1);
    }
    txn_->abort();
    // The transaction may have drawn a stamp, which no commit will have.
    if (clock_ != nullptr) extend_durable_prefix();
    back_off(attempt);
    // A run that ends does not wait for a transaction that keeps aborting.
    if (control_.in(Phase::kDrain)) {
      count_late(txn);
      return;
    }
  }
}

void Worker::refuse_type(uint32_t type) const {
  const Specification spec = workload_.spec();
  platform::contract_broken("next() returned the type " + std::to_string(type) +
                            ", and the number of types in spec() is " +
                            std::to_string(spec.types.size()) + ": " + spec.description);
}

void Worker::refuse_exists() const {
  platform::contract_broken(
      "execute() returned kExists, and a transaction either commits (kOk, kNotFound) or is undone "
      "(kAbort, kRollback): " +
      workload_.spec().description);
}

// Executes one attempt. Returns false if concurrency control aborted it. `begun`: the start of the
// first attempt.
bool Worker::execute(uint64_t begun, PendingCommit* txn) {
  work_on();
  const Status status = client_->execute(*txn_);
  if (status == Status::kAbort) return false;
  if (status == Status::kExists) refuse_exists();
  if (status == Status::kRollback) {
    txn_->abort();
    if (control_.in(Phase::kDrain)) {
      count_late(*txn);
    } else {
      counts().by_type[txn->type].rollbacks.add(1);
    }
    return true;
  }
  txn->miss = status == Status::kNotFound;
  txn->number = client_->committing();
  if (commands_) {
    context_.command_type = txn->type;
    context_.command_input = client_->command();
  }
  const uint64_t writers = context_.transactions_begun;
  if (txn_->commit() == Status::kAbort) return false;

  txn->point = txn_->commit_point();
  txn->read_only = context_.transactions_begun == writers;
  txn->stamp = context_.commit_stamp + (txn->read_only ? 1 : 0);
  txn->erased = reclaimer_.note_committed(txn->point.queue);
  count_committed(begun, txn);
  if (txn_->holds_locks()) keep_locks(txn);
  end_or_queue(*txn);
  return true;
}

// Keeps the core busy, because a transaction takes longer in a paper's slower engine. It holds no
// lock meanwhile: 60 clients of TPC-B would not use 64 contexts if each worked with its branch
// locked (Aether, Fig. 2).
void Worker::work_on() const {
  if (options_.work_ns == 0) return;
  const uint64_t begun_ns = platform::now_ns();
  while (platform::now_ns() - begun_ns < options_.work_ns) {
  }
}

void Worker::count_committed(uint64_t begun, PendingCommit* txn) {
  counts().committed.add(1);
  counts().log_bytes.add(context_.log_bytes);
  if (timeline_ != nullptr) {
    txn->log_bytes = static_cast<uint32_t>(context_.log_bytes);
    timeline_->log_bytes.add(txn->log_bytes);
  }
  counts().log_records.add(context_.log_records_written);
  context_.log_bytes = context_.log_records_written = 0;
  txn->ended = ticks();
  counts().execution.record(txn->ended - begun);
}

// Moves the transaction object, with its locks, to `*txn`. The worker goes on with another object.
void Worker::keep_locks(PendingCommit* txn) {
  LJ_ASSERT(txn->locks == nullptr);
  txn->locks = std::move(txn_);
  if (spare_.empty()) spare_.push_back(protocol_.make(context_));
  txn_ = std::move(spare_.back());
  spare_.pop_back();
}

// Settles a pre-committed transaction if it is durable. Otherwise queues it in the pipeline.
void Worker::end_or_queue(PendingCommit& txn) {
  // Without a log, a transaction is durable as soon as it has committed.
  const bool queues_first = clock_ != nullptr || !pipeline_.empty();
  const bool async = options_.commit == CommitPolicy::kAsync;
  if (!async && (!queues_first || overtakes(txn)) && scheme_.is_durable(txn.point)) {
    return settle(txn, txn.ended);
  }
  if (options_.commit == CommitPolicy::kSync && !scheme_.is_durable(txn.point)) {
    const ActivityScope scope(breakdown_, Activity::kFlushWait);
    scheme_.wait_durable(context_.id, txn.point);
  }
  if (options_.commit == CommitPolicy::kAsync) {
    acknowledge(txn, ticks());
    if (txn.locks == nullptr && txn.erased == 0) return;
  }
  pipeline_.push(std::move(txn));
  note_oldest();
  if (clock_ != nullptr && beyond_prefix_.size() > options_.pipeline_depth) {
    wait_for_durable_prefix();
  }
  if (pipeline_.too_full() && !scheme_.is_durable(pipeline_.next())) {
    const ActivityScope scope(breakdown_, Activity::kFlushWait);
    const uint64_t full = ticks();
    pipeline_.wait();
    // Counts the measured part of the wait, which may begin in the warm-up or end after the phase.
    stats_[1].pipeline_wait_ticks.add(control_.window.part(full, ticks()));
  }
  acknowledge_durable();
  if (options_.commit == CommitPolicy::kSync) wait_for_durable_prefix();
}

// Backs off for a random time that grows with `attempt`. After ten attempts the worker sleeps:
// without early lock release, a lock may be held for the time of a device write.
void Worker::back_off(uint32_t attempt) {
  const ActivityScope scope(breakdown_, Activity::kLockWait);
  context_.acknowledge_durable();
  constexpr uint32_t kSpinningAttempts = 10;
  if (attempt >= kSpinningAttempts) {
    platform::sleep_ns(10'000 + random_.next() % 50'000);
    return;
  }
  for (uint64_t left = random_.next() & ((uint64_t{2} << attempt) - 1); left > 0; --left) {
    platform::pause();
  }
  // With more workers than cores, the lock's holder may be waiting for the core of this worker.
  if (attempt >= 3) platform::yield();
}

void Worker::acknowledge_some() {
  const auto end = [this](PendingCommit& txn) {
    platform::worker_role.assume();
    if (clock_ != nullptr && !txn.read_only) {
      beyond_prefix_.push_back(std::move(txn));
    } else {
      settle(txn, ticks());
    }
  };
  const bool any = pipeline_.acknowledge_durable(end);
  if (any) note_oldest();
  if (clock_ != nullptr && (any || !beyond_prefix_.empty())) extend_durable_prefix();
}

void Worker::extend_durable_prefix() {
  clock_->note_oldest(context_.id,
                      pipeline_.empty() ? CommitClock::kNone : pipeline_.oldest_stamp());
  const uint64_t prefix = clock_->extend_durable_prefix();
  for (; !beyond_prefix_.empty() && beyond_prefix_.front().stamp <= prefix;
       beyond_prefix_.pop_front()) {
    settle(beyond_prefix_.front(), ticks());
  }
}

// Waits until all durable commits of this worker are acknowledged.
void Worker::wait_for_durable_prefix() {
  if (beyond_prefix_.empty()) return;
  const ActivityScope scope(breakdown_, Activity::kFlushWait);
  for (platform::BackOff wait; !beyond_prefix_.empty();) {
    wait.once();
    context_.acknowledge_durable();
  }
}

// Ends a transaction that is durable at `now`, in ticks.
void Worker::settle(PendingCommit& txn, uint64_t now) {
  if (options_.commit != CommitPolicy::kAsync) acknowledge(txn, now);
  release(txn);
  if (txn.erased != 0) reclaimer_.note_durable(txn.point.queue, txn.erased);
}

void Worker::acknowledge(const PendingCommit& txn, uint64_t now) {
  client_->acknowledged(txn.number);
  if (timeline_ != nullptr) {
    timeline_->acknowledged_bytes.add(txn.log_bytes);
    timeline_->commit.record(now - txn.start);
  }
  const Phase phase = control_.phase.load(platform::memory_order_acquire);
  if (phase == Phase::kDrain) {  // after the measured time: no goodput
    count_late(txn);
    return;
  }
  if (phase != phase_) enter_phase(phase);
  counts().by_type[txn.type].transactions.add(1);
  if (txn.miss) counts().by_type[txn.type].misses.add(1);
  if (counts_for_latency(txn)) record_latency(txn, now - txn.start);
}

// Returns whether the latency counts. In an open loop, only arrivals in the measured time count.
bool Worker::counts_for_latency(const PendingCommit& txn) const {
  return !arrivals_->open() || txn.start >= control_.window.begun();
}

// Counts a transaction that had begun, but not ended, when the measured phase ended.
void Worker::count_late(const PendingCommit& txn) {
  if (!arrivals_->open()) return;
  counts().backlog.add(1);
  if (counts_for_latency(txn)) record_latency(txn, ticks() - txn.start);
}

void Worker::release(PendingCommit& txn) {
  if (txn.locks == nullptr) return;
  txn.locks->release_locks();
  spare_.push_back(std::move(txn.locks));
}

// Updates WorkerTimeline::queued. Under --commit=async no transaction waits for the log.
void Worker::note_oldest() {
  if (timeline_ == nullptr || options_.commit == CommitPolicy::kAsync) return;
  uint64_t oldest = pipeline_.oldest_start();
  if (!beyond_prefix_.empty()) oldest = beyond_prefix_.front().start;
  timeline_->queued.store(oldest, platform::memory_order_relaxed);
}

}  // namespace logjam
