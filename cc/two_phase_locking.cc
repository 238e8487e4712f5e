// Strict two-phase locking: a transaction keeps its locks to its end. The protocols differ in one
// decision: whether a transaction that cannot get a lock waits or aborts (may_wait()).
//
// A shared lock lets read() return a pointer to the row in place. Writes stay private until commit,
// so an abort has nothing to undo.
//
// Phantoms: index nodes have locks. A transaction that scans a node, or misses a key in it, takes
// the node's lock shared, and then loads the node's structure word. If the word has changed, the
// transaction reads the node again. An insert takes the node's latch, which is a bit of the
// structure word, and then loads the lock. The insert is refused if another transaction holds the
// lock. The lock and the latch are taken by seq_cst read-modify-writes, and both loads are seq_cst.
// So either the insert is refused, or the other transaction finds the node latched or changed.
//
// An inserter keeps no node lock. It locks its new tuple exclusively before the tuple enters an
// index, so a transaction that finds the tuple meets this lock. A transaction that holds a node's
// lock may itself split the node by an insert. Then the index calls the gate for the new node
// before another thread can reach the new node, and the gate takes the new node's lock shared.
//
// Without early lock release, a transaction keeps its exclusive locks until it is durable. So other
// transactions see only durable rows ("retaining all write locks", Aether, section 1). At
// pre-commit the transaction releases its shared locks and node locks, unless --locks=all is set.
// This is safe: a later writer of a row that the transaction only read follows the transaction in
// the serial order, but does not depend on it.
#include <cstdint>
#include <memory>
#include <vector>

#include "cc/row_lock.h"
#include "cc/transaction_base.h"
#include "cc/waits_for.h"
#include "platform/assert.h"
#include "platform/racy_copy.h"
#include "platform/spin.h"
#include "platform/thread_annotations.h"

namespace logjam {
namespace {

enum class Policy : uint8_t { kNoWait, kWaitDie, kDetect };

template <Policy policy>
class TwoPhaseLocking final : public TransactionBase<TwoPhaseLocking<policy>> {
  using Base = TransactionBase<TwoPhaseLocking<policy>>;
  using Base::context_, Base::deps_, Base::holds_locks_, Base::log_, Base::commit_point_,
      Base::finger_, Base::postings_, Base::writes_;
  using Base::fail, Base::note_overwritten, Base::note_read;

 public:
  using Base::Base;

  void begin(bool retry) override LJ_REQUIRES(platform::worker_role) {
    LJ_ASSERT(held_.empty());
    Base::reset();
    reads_.clear();
    if (policy == Policy::kWaitDie && !(retry && age_ != 0)) {
      age_ = context_.ages->fetch_add(1, platform::memory_order_relaxed) + 1;
      deaths_ = 0;
    }
  }

  Status commit() override LJ_REQUIRES(platform::worker_role) {
    if (!postings_.post_moved()) return Status::kAbort;
    if (!writes_.changes_anything()) {
      // The transaction has changed nothing, so it need not keep its locks until the commit point.
      commit_point_ = log_.commit_read_only(deps_);
      hold_nothing();
      unlock_all();
      return Status::kOk;
    }
    for (const Write& write : writes_.all()) {
      note_overwritten(write, write.tuple->load_version());
    }
    log_.reserve(deps_, writes_.all());
    for (const Tuple* tuple : reads_) log_.stamp_read(*tuple);
    const uint64_t sequence = log_.sequence();
    if (context_.observer != nullptr) context_.observer->serialized();
    if (!log_.fills_after_unlock()) commit_point_ = log_.finish();
    for (const Write& write : writes_.all()) install(write, sequence);
    Base::report_erased(sequence);
    holds_locks_ = !context_.options.early_lock_release;
    hold_nothing();
    if (!holds_locks_) {
      unlock_all();
    } else if (!context_.options.keep_read_locks) {
      unlock_shared();
    }
    if (log_.fills_after_unlock()) commit_point_ = log_.finish();
    return Status::kOk;
  }

  void abort() override LJ_REQUIRES(platform::worker_role) {
    hold_nothing();
    unlock_all();
    Base::report_abandoned();
  }

  void release_locks() override LJ_REQUIRES(platform::worker_role) {
    LJ_ASSERT(holds_locks_);
    unlock_all();
    holds_locks_ = false;
  }

  // TransactionBase requires the next seven functions of every protocol.

  NodeCheck track_node(NodeVersion node, const Index&) {
    deps_.reads = true;
    if (!lock_shared(node.node->lock)) return NodeCheck::kAbort;
    const uint64_t now = node.node->structure.load(platform::memory_order_seq_cst);
    return now == node.structure ? NodeCheck::kUnchanged : NodeCheck::kChanged;
  }

  bool read_tuple(Tuple& tuple, uint32_t, const std::byte** row) {
    if (!lock_shared(tuple.lock)) return false;
    if (const Write* own = writes_.find(&tuple)) {
      *row = own->row;
      return true;
    }
    const Version version = tuple.load_version();
    note_read(tuple, version);
    if (log_.stamps_reads()) reads_.push_back(&tuple);
    *row = version.absent() ? nullptr : tuple.row();
    return true;
  }

  bool read_for_update(Tuple& tuple, uint32_t bytes, std::byte* copy, Version* version) {
    if (!prepare_blind_write(tuple, version)) return false;
    note_read(tuple, *version);
    if (copy != nullptr && !version->absent()) {
      load_row(copy, tuple.row(), bytes);
      platform::racy_load_is_whole(tuple.row(), bytes);
    }
    return true;
  }

  bool prepare_blind_write(Tuple& tuple, Version* version) {
    if (!lock_exclusive(tuple.lock)) return false;
    *version = tuple.load_version();
    return true;
  }

  void init_tuple(Tuple& tuple) { RowLock(tuple.lock).init_exclusive(holder()); }
  void tuple_inserted(Tuple& tuple) { add_held(tuple.lock, true); }

  bool insert_entry(Index& index, Keyed* entry, InsertResult* result);

 private:
  struct HeldLock {
    RowLock::Word* word;
    bool exclusive;
  };

  Holder holder() const {
    if constexpr (policy == Policy::kDetect) return Holder::of_worker(context_.id);
    return age_;
  }

  // Returns whether the transaction may wait for a lock in state `seen` (proof in row_lock.h).
  bool may_wait(LockState seen) const {
    if constexpr (policy == Policy::kNoWait) return false;
    if constexpr (policy == Policy::kWaitDie) return age_ <= seen.oldest_age();
    // An exclusive lock without a holder (kLockedForever) is never released.
    return !seen.exclusive() || seen.writer() != 0;
  }
  // Returns the waits-for graph. Tells clang that the caller is a worker.
  static WaitsFor& graph() LJ_ASSERT_HELD(platform::worker_role) { return WaitsFor::graph(); }
  // Returns whether the transaction would wait for itself (waits_for.h). If the same worker already
  // holds the lock, this alone is no reason to abort: either the transaction itself holds the lock
  // shared, or a parked transaction of the worker holds the lock until that transaction is durable.
  bool waits_for_itself(const RowLock::Word& lock, LockState seen) const {
    if constexpr (policy != Policy::kDetect) return false;
    return graph().closes_cycle(context_.id, lock, seen);
  }
  void stop_waiting() const {
    if constexpr (policy == Policy::kDetect) graph().stop_waiting(context_.id);
  }
  // Announces that this worker's transaction has ended, even if it is parked and keeps locks.
  void hold_nothing() const {
    if constexpr (policy == Policy::kDetect) graph().hold_nothing(context_.id);
  }

  // How a transaction wants a lock. kAlone also stands for an insert into the lock's index node.
  enum class Wants : uint8_t { kShared, kAlone };

  // Calls `attempt` until it succeeds, and waits between two calls as long as may_wait() allows it.
  // Returns false, and notes the reason, if the transaction must abort. `busy` is the reason that
  // 2pl-nowait notes.
  template <class Attempt>
  bool wait_for(RowLock::Word& word, Wants wants, AbortReason busy, const Attempt& attempt);

  bool lock_shared(RowLock::Word& word);
  bool lock_exclusive(RowLock::Word& word);
  void add_held(RowLock::Word& word, bool exclusive) {
    held_index_.insert(&word, static_cast<uint32_t>(held_.size()));
    held_.push_back({&word, exclusive});
    if constexpr (policy == Policy::kDetect) graph().add_held(context_.id, word);
  }
  bool holds(const RowLock::Word& word) const {
    return held_index_.find(&word) != PointerMap::kNone;
  }

  static void install(const Write& write, uint64_t sequence) {
    if (!write.changes()) return;
    LJ_ASSERT_IN_TESTS(RowLock(write.tuple->lock).state().exclusive());
    if (write.row != nullptr) store_row(write.tuple->row(), write.row, write.table->row_bytes());
    const Version next(sequence, write.row == nullptr);
    write.tuple->version.store(next.word(), platform::memory_order_release);
  }

  void unlock_shared() {
    std::erase_if(held_, [](const HeldLock& held) {
      if (!held.exclusive) RowLock(*held.word).release_shared();
      return !held.exclusive;
    });
  }
  void unlock_all() {
    for (const HeldLock& held : held_) {
      RowLock lock(*held.word);
      held.exclusive ? lock.release_exclusive() : lock.release_shared();
    }
    held_.clear();
    held_index_.clear();
  }

  // Under wait-die, a writer that has died more than this number of times turns readers away
  // (row_lock.h). A few deaths cost less than making readers wait.
  static constexpr uint32_t kDeathsBorne = 8;

  uint64_t age_ = 0;     // the time stamp of wait-die
  uint32_t deaths_ = 0;  // how often the transaction has died at this age
  std::vector<HeldLock> held_;
  std::vector<const Tuple*> reads_;  // filled only if the log stamps reads
  PointerMap held_index_;
};

template <Policy policy>
bool TwoPhaseLocking<policy>::lock_shared(RowLock::Word& word) {
  if (holds(word)) return true;
  RowLock lock(word);
  const auto attempt = [&](LockState* seen) { return lock.try_shared(holder(), seen); };
  if (!wait_for(word, Wants::kShared, AbortReason::kLockBusy, attempt)) return false;
  add_held(word, false);
  return true;
}

template <Policy policy>
bool TwoPhaseLocking<policy>::lock_exclusive(RowLock::Word& word) {
  RowLock lock(word);
  const uint32_t at = held_index_.find(&word);
  if (at == PointerMap::kNone) {
    const auto attempt = [&](LockState* seen) { return lock.try_exclusive(holder(), seen); };
    if (!wait_for(word, Wants::kAlone, AbortReason::kLockBusy, attempt)) return false;
    add_held(word, true);
  } else if (!held_[at].exclusive) {
    const auto attempt = [&](LockState* seen) { return lock.try_upgrade(holder(), seen); };
    if (!wait_for(word, Wants::kAlone, AbortReason::kLockBusy, attempt)) return false;
    held_[at].exclusive = true;
  }
  return true;
}

template <Policy policy>
template <class Attempt>
bool TwoPhaseLocking<policy>::wait_for(RowLock::Word& word, Wants wants, AbortReason busy,
                                       const Attempt& attempt) {
  RowLock lock(word);
  LockState seen;
  if (attempt(&seen)) return true;
  if (policy == Policy::kNoWait) return fail(busy);

  constexpr uint32_t kRoundsBeforeSleep = 80;
  const ActivityScope scope(*context_.breakdown, Activity::kLockWait);
  // Removes the worker's edge from the waits-for graph when the wait ends, even if
  // acknowledge_durable() throws in a test.
  const struct Waiting {
    const TwoPhaseLocking& of;
    ~Waiting() { of.stop_waiting(); }
  } waiting{*this};
  platform::SpinWait spin;
  while (may_wait(seen)) {
    const uint32_t parker = lock.parker();
    if (attempt(&seen)) return true;
    if (spin.rounds() < kRoundsBeforeSleep) {
      spin.once();
      continue;
    }
    if (waits_for_itself(word, seen)) break;
    // Without early lock release, the lock's holder may be parked until the holder's worker
    // acknowledges it. That worker may be this worker, or may be waiting for this worker. So this
    // worker acknowledges its durable transactions before it sleeps.
    if (context_.acknowledge_durable) context_.acknowledge_durable();
    lock.sleep(parker, seen);
  }
  if (policy == Policy::kDetect) return fail(AbortReason::kDeadlock);
  if (++deaths_ > kDeathsBorne && wants == Wants::kAlone) lock.turn_readers_away();
  return fail(AbortReason::kDied);
}

template <Policy policy>
bool TwoPhaseLocking<policy>::insert_entry(Index& index, Keyed* entry, InsertResult* result) {
  while (true) {
    IndexNode* refusing = nullptr;
    bool guarded = false;  // the insert changes a node that this transaction holds shared
    const auto gate = [&](IndexNode& node) {
      const bool own = holds(node.lock);
      if (RowLock(node.lock).state().shared() > (own ? 1 : 0)) {
        refusing = &node;
        return false;
      }
      LockState seen;
      if (guarded && !own && RowLock(node.lock).try_shared(holder(), &seen))
        add_held(node.lock, false);
      guarded = guarded || own;
      return true;
    };
    *result = index.insert(entry, *context_.arena, gate, nullptr, &finger_);
    if (!result->refused) return true;

    RowLock lock(refusing->lock);
    const uint64_t own = holds(refusing->lock) ? 1 : 0;
    const auto attempt = [&](LockState* seen) {
      *seen = lock.state();
      return seen->shared() <= own;
    };
    if (!wait_for(refusing->lock, Wants::kAlone, AbortReason::kPhantom, attempt)) return false;
  }
}

template <Policy policy>
std::unique_ptr<ProtocolTransaction> make(WorkerContext& context) {
  return std::make_unique<TwoPhaseLocking<policy>>(context);
}

const ProtocolRegistration no_wait({
    "2pl-nowait",
    "strict two-phase locking; a transaction that meets a lock aborts",
    make<Policy::kNoWait>,
});
const ProtocolRegistration wait_die({
    "2pl-waitdie",
    "strict two-phase locking; an older transaction waits for a younger one, a younger one aborts",
    make<Policy::kWaitDie>,
});
const ProtocolRegistration detect({
    "2pl-detect",
    "strict two-phase locking; a transaction waits, unless it would wait for itself in the end",
    make<Policy::kDetect>,
});

}  // namespace
}  // namespace logjam
