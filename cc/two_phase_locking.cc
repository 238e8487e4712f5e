// Strict two-phase locking: rows are locked when they are accessed, and all locks are kept to the
// end. The protocols differ in one decision, what to do when a lock is not to be had: see
// may_wait().
//
// A shared lock lets read() hand out the row in place. Writes stay private until commit, so there
// is nothing to undo.
//
// Phantoms: index-node locks. A scan or a miss takes the node's lock shared and then looks whether
// the node is still as it saw it (if not, it looks again, with the lock). An insert asks, under the
// node's latch, whether anybody else holds the lock, and is refused if so. Scanner: takes the lock,
// loads the structure word. Inserter: takes the latch (it is in the structure word), loads the
// lock. Both first steps are seq_cst read-modify-writes and both second ones seq_cst loads, so one
// of the two sees the other: either the insert is refused, or the scanner finds the node latched or
// changed. Once shared, a node is frozen for all but its holder.
//
// An inserter keeps no node lock: its new tuple is exclusively locked before it enters an index, so
// whoever finds it waits for the tuple. When a holder's own insert splits a node, the index calls
// the gate for the created node before anybody can reach it, and the share is extended to it there.
#include <cstdint>
#include <memory>
#include <vector>

#include "cc/row_lock.h"
#include "cc/transaction_base.h"
#include "cc/waits_for.h"
#include "platform/spin.h"

namespace logjam {
namespace {

enum class Policy : uint8_t { kNoWait, kWaitDie, kDetect };

template <Policy policy>
class TwoPhaseLocking final : public TransactionBase<TwoPhaseLocking<policy>> {
  using Base = TransactionBase<TwoPhaseLocking<policy>>;
  using Base::context_, Base::deps_, Base::holds_locks_, Base::log_, Base::point_, Base::writes_;
  using Base::fail, Base::note_overwritten, Base::note_read;

 public:
  using Base::Base;

  void begin(bool retry) override {
    Base::forget();
    reads_.clear();
    if (policy == Policy::kWaitDie && !(retry && age_ != 0)) {
      age_ = context_.ages->fetch_add(1, platform::memory_order_relaxed) + 1;
    }
  }

  Status commit() override {
    if (!Base::post_moved_keys()) return Status::kAbort;
    if (!writes_.changes_anything()) {
      // Nothing of it becomes visible later, so its locks need not wait for the point.
      point_ = log_.observe(deps_);
      unlock_all();
      return Status::kOk;
    }
    for (const Write& write : writes_.all()) {
      note_overwritten(write, write.tuple->load_version());
    }
    log_.draw(deps_, writes_.all());
    for (const Tuple* tuple : reads_) log_.stamp_read(*tuple);
    const uint64_t sequence = log_.sequence();
    point_ = log_.finish(true);
    for (const Write& write : writes_.all()) install(write, sequence);
    Base::report_erased(sequence);
    holds_locks_ = !context_.early_lock_release;
    if (!holds_locks_) unlock_all();
    return Status::kOk;
  }

  void abort() override {
    unlock_all();
    Base::report_abandoned();
  }

  void release_locks() override {
    unlock_all();
    holds_locks_ = false;
  }

  // What TransactionBase asks.

  Seen see(NodeSight sight) {
    deps_.reads = true;
    if (!lock_shared(sight.node->lock)) return Seen::kAbort;
    const uint64_t now = sight.node->structure.load(platform::memory_order_seq_cst);
    return now == sight.structure ? Seen::kYes : Seen::kMoved;
  }

  bool look(Table&, Tuple& tuple, const std::byte** row) {
    if (!lock_shared(tuple.lock)) return false;
    if (const Write* own = writes_.find(&tuple)) {
      *row = own->row;
      return true;
    }
    const Version version = tuple.load_version();
    note_read(version);
    if (log_.stamps_reads()) reads_.push_back(&tuple);
    *row = version.absent() ? nullptr : tuple.row();
    return true;
  }

  bool open(Table& table, Tuple& tuple, std::byte* copy, Version* version) {
    if (!open_blind(tuple, version)) return false;
    note_read(*version);
    if (copy != nullptr && !version->absent()) load_row(copy, tuple.row(), table.row_bytes());
    return true;
  }

  bool open_blind(Tuple& tuple, Version* version) {
    if (!lock_exclusive(tuple.lock)) return false;
    *version = tuple.load_version();
    return true;
  }

  void start(Tuple& tuple) { RowLock(tuple.lock).start_exclusive(holder()); }
  void started(Tuple& tuple) { hold(tuple.lock, true); }

  bool place(Index& index, Keyed* entry, InsertResult* result);

 private:
  struct Held {
    RowLock::Word* word;
    bool exclusive;
  };

  Holder holder() const {
    if constexpr (policy == Policy::kDetect) {
      const bool alone = context_.early_lock_release && WaitsFor::may_wait(context_.id);
      return Holder::of_slot(WaitsFor::slot_of(context_.id), alone);
    }
    return age_;
  }

  // The one decision. The proofs are in row_lock.h and waits_for.h.
  bool may_wait(LockState seen) const {
    if constexpr (policy == Policy::kNoWait) return false;
    if constexpr (policy == Policy::kWaitDie) return age_ <= seen.oldest();
    if (!WaitsFor::may_wait(context_.id)) return false;
    // An exclusive lock of nobody's is never released.
    if (seen.exclusive() && seen.slots() == 0) return false;
    // Its own slot is its own share, which it upgrades or inserts beside, or that of something its
    // worker has parked, which becomes durable.
    const uint64_t others = seen.slots() & ~WaitsFor::slot_of(context_.id);
    return !WaitsFor::graph().closes_cycle(context_.id, others);
  }
  void wait_ends() const {
    if constexpr (policy == Policy::kDetect) {
      if (WaitsFor::may_wait(context_.id)) WaitsFor::graph().ends(context_.id);
    }
  }

  // Waits, if it may, until `attempt` succeeds. `busy` is no-wait's reason for giving up.
  template <class Attempt>
  bool wait_for(RowLock lock, AbortReason busy, const Attempt& attempt);

  bool lock_shared(RowLock::Word& word);
  bool lock_exclusive(RowLock::Word& word);
  void hold(RowLock::Word& word, bool exclusive) {
    held_at_.insert(&word, static_cast<uint32_t>(held_.size()));
    held_.push_back({&word, exclusive});
  }
  bool holds(const RowLock::Word& word) const { return held_at_.find(&word) != PointerMap::kNone; }

  static void install(const Write& write, uint64_t sequence) {
    if (!write.changes()) return;
    if (write.row != nullptr) store_row(write.tuple->row(), write.row, write.table->row_bytes());
    const Version next(sequence, write.row == nullptr);
    write.tuple->version.store(next.word(), platform::memory_order_release);
  }

  void unlock_all() {
    for (const Held& held : held_) {
      RowLock lock(*held.word);
      held.exclusive ? lock.release_exclusive() : lock.release_shared(holder());
    }
    held_.clear();
    held_at_.clear();
  }

  uint64_t age_ = 0;  // wait-die's
  std::vector<Held> held_;
  std::vector<const Tuple*> reads_;  // only if the log wants them stamped
  PointerMap held_at_;
};

template <Policy policy>
bool TwoPhaseLocking<policy>::lock_shared(RowLock::Word& word) {
  if (holds(word)) return true;
  RowLock lock(word);
  const auto attempt = [&](LockState* seen) { return lock.try_shared(holder(), seen); };
  if (!wait_for(lock, AbortReason::kLockBusy, attempt)) return false;
  hold(word, false);
  return true;
}

template <Policy policy>
bool TwoPhaseLocking<policy>::lock_exclusive(RowLock::Word& word) {
  RowLock lock(word);
  const uint32_t at = held_at_.find(&word);
  if (at == PointerMap::kNone) {
    const auto attempt = [&](LockState* seen) { return lock.try_exclusive(holder(), seen); };
    if (!wait_for(lock, AbortReason::kLockBusy, attempt)) return false;
    hold(word, true);
  } else if (!held_[at].exclusive) {
    const auto attempt = [&](LockState* seen) { return lock.try_upgrade(seen); };
    if (!wait_for(lock, AbortReason::kLockBusy, attempt)) return false;
    held_[at].exclusive = true;
  }
  return true;
}

template <Policy policy>
template <class Attempt>
bool TwoPhaseLocking<policy>::wait_for(RowLock lock, AbortReason busy, const Attempt& attempt) {
  LockState seen;
  if (attempt(&seen)) return true;
  if (policy == Policy::kNoWait) return fail(busy);

  constexpr uint32_t kRoundsBeforeSleep = 80;
  const Charge charge(*context_.breakdown, Activity::kLockWait);
  // However it ends, settle() throwing in a test included.
  const struct Waiting {
    const TwoPhaseLocking& of;
    ~Waiting() { of.wait_ends(); }
  } waiting{*this};
  platform::SpinWait spin;
  while (may_wait(seen)) {
    const uint32_t bed = lock.bed();
    if (attempt(&seen)) return true;
    if (spin.rounds() < kRoundsBeforeSleep) {
      spin.once();
      continue;
    }
    // Without early lock release, the holder may be parked until its worker settles, and that
    // worker may be this one, or wait for this one.
    if (context_.settle) context_.settle();
    if (may_wait(seen)) lock.sleep(bed, seen);
  }
  return fail(policy == Policy::kDetect ? AbortReason::kDeadlock : AbortReason::kDied);
}

template <Policy policy>
bool TwoPhaseLocking<policy>::place(Index& index, Keyed* entry, InsertResult* result) {
  while (true) {
    IndexNode* refusing = nullptr;
    bool guarded = false;  // a node of this insert is shared by this transaction
    const auto gate = [&](IndexNode& node) {
      const bool own = holds(node.lock);
      if (RowLock(node.lock).state().shared() > (own ? 1 : 0)) {
        refusing = &node;
        return false;
      }
      LockState seen;
      if (guarded && !own && RowLock(node.lock).try_shared(holder(), &seen)) hold(node.lock, false);
      guarded = guarded || own;
      return true;
    };
    *result = index.insert(entry, *context_.arena, gate, nullptr);
    if (!result->refused) return true;

    RowLock lock(refusing->lock);
    const uint64_t own = holds(refusing->lock) ? 1 : 0;
    const auto attempt = [&](LockState* seen) {
      *seen = lock.state();
      return seen->shared() <= own;
    };
    if (!wait_for(lock, AbortReason::kPhantom, attempt)) return false;
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
