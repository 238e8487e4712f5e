// Optimistic concurrency control, as in Silo (Tu et al., SOSP 2013).
//
// A transaction reads without a trace in shared memory, and remembers the version of every tuple,
// and the structure word of every index node, that its answers depend on. Commit locks the write
// set, checks that what was read is still so, draws the sequence number, logs, installs the rows
// and unlocks each with its new version.
//
// Protocol on Tuple::version. The lock bit is set by compare-and-swap, by a transaction that
// commits; only it stores the row and then, with release, the word without the bit. A reader loads
// the word, copies the row, and loads the word again: equal and unlocked means the copy is of that
// version.
//
// Two transactions that each write what the other read: each sets its lock bits before it loads the
// words it validates, all seq_cst, so at least one of them sees the other's lock, and aborts. For
// index nodes the same: an insert changes the structure word (under a latch taken by a
// read-modify-write) before its transaction locks its first tuple.
//
// Write locks are taken in address order, and every wait is bounded: without early lock release a
// lock may belong to a transaction that is parked until it is durable.
#include <cstdint>
#include <memory>
#include <vector>

#include "cc/transaction_base.h"
#include "platform/spin.h"

namespace logjam {
namespace {

using platform::memory_order_relaxed;
using platform::memory_order_release;
using platform::memory_order_seq_cst;

class Occ final : public TransactionBase<Occ> {
 public:
  using TransactionBase::TransactionBase;

  void begin(bool) override {
    forget();
    reads_.clear();
    nodes_.clear();
    locked_ = 0;
  }

  Status commit() override;

  void abort() override {
    unlock();
    report_abandoned();
  }

  void release_locks() override {
    unlock();
    holds_locks_ = false;
  }

  // What TransactionBase asks.

  Seen see(NodeSight sight) {
    deps_.reads = true;
    if (nodes_.remember(sight)) return Seen::kYes;
    fail(AbortReason::kPhantom);
    return Seen::kAbort;
  }

  bool look(Table& table, Tuple& tuple, const std::byte** row) {
    if (const Write* own = writes_.find(&tuple)) {
      *row = own->row;
      return true;
    }
    std::byte* copy = rows_.allocate(table.row_bytes());
    Version version;
    if (!open(table, tuple, copy, &version)) return false;
    *row = version.absent() ? nullptr : copy;
    return true;
  }

  bool open(Table& table, Tuple& tuple, std::byte* copy, Version* version) {
    if (!try_load(table, tuple, copy, version) && !wait_to_load(table, tuple, copy, version)) {
      return false;
    }
    reads_.push_back({&tuple, version->word()});
    note_read(*version);
    return true;
  }

  bool open_blind(Tuple& tuple, Version* version) {
    *version = tuple.load_version();
    return true;
  }

  void start(Tuple&) {}

  // Whoever else finds the tuple may take it over, as long as it is absent: the first to commit
  // wins, and lock_writes() tells the others.
  void started(Tuple&) {}

  bool place(Index& index, Keyed* entry, InsertResult* result) {
    changes_.clear();
    *result = index.insert(entry, *context_.arena, nullptr, &changes_);
    return nodes_.apply(changes_) || fail(AbortReason::kPhantom);
  }

 private:
  // A commit in progress is over within microseconds, if its worker has a core.
  static constexpr uint32_t kMaxRounds = 400;

  static bool try_load(Table& table, Tuple& tuple, std::byte* copy, Version* version) {
    *version = tuple.load_version();
    if (version->locked()) return false;
    if (copy == nullptr || version->absent()) return true;
    load_row(copy, tuple.row(), table.row_bytes());
    return tuple.version.load(memory_order_relaxed) == version->word();
  }

  bool wait_to_load(Table& table, Tuple& tuple, std::byte* copy, Version* version) {
    return spin_until([&] { return try_load(table, tuple, copy, version); });
  }

  static bool try_lock(Write& write) {
    uint64_t word = write.tuple->version.load(memory_order_relaxed);
    if (Version(word).locked()) return false;
    write.version = word;
    return write.tuple->version.compare_exchange_strong(word, word | Version::kLocked,
                                                        memory_order_seq_cst);
  }

  template <class Try>
  bool spin_until(const Try& attempt);

  bool lock_writes();
  bool validate();
  // Before install() the old versions come back, after it the new ones appear.
  void unlock() {
    for (const Write& write : writes_.all().first(locked_)) {
      write.tuple->version.store(write.version, memory_order_release);
    }
    locked_ = 0;
  }
  Status give_up() {
    unlock();
    return Status::kAbort;
  }
  void install(uint64_t sequence);

  std::vector<Read> reads_;
  NodeSet nodes_;
  std::vector<NodeChange> changes_;
  size_t locked_ = 0;  // of the sorted write set
};

template <class Try>
bool Occ::spin_until(const Try& attempt) {
  const Charge charge(*context_.breakdown, Activity::kLockWait);
  for (platform::SpinWait wait; wait.rounds() < kMaxRounds;) {
    wait.once();
    if (attempt()) return true;
    constexpr uint32_t kSettleEvery = 64;
    if (wait.rounds() % kSettleEvery == 0 && context_.settle) context_.settle();
  }
  return fail(AbortReason::kLockBusy);
}

Status Occ::commit() {
  if (!post_moved_keys()) return give_up();
  if (writes_.empty()) {
    if (!validate()) return give_up();
    point_ = log_.observe(deps_);
    return Status::kOk;
  }
  writes_.sort_by_address();
  if (!lock_writes()) return give_up();
  if (!writes_.changes_anything()) {
    if (!validate()) return give_up();
    point_ = log_.observe(deps_);
    unlock();
    return Status::kOk;
  }

  const bool early = log_.draws_before_validation();
  if (early) log_.draw(deps_, writes_.all());
  if (log_.stamps_reads()) {
    for (const Read& read : reads_) log_.stamp_read(*read.tuple);
  }
  if (!validate()) {
    if (early) log_.finish(false);
    return give_up();
  }
  if (!early) log_.draw(deps_, writes_.all());
  const uint64_t sequence = log_.sequence();
  point_ = log_.finish(true);

  install(sequence);
  report_erased(sequence);
  holds_locks_ = !context_.early_lock_release;
  if (!holds_locks_) release_locks();
  return Status::kOk;
}

bool Occ::lock_writes() {
  for (Write& write : writes_.all()) {
    if (!try_lock(write) && !spin_until([&] { return try_lock(write); })) return false;
    ++locked_;
    // All that a blind write and an insert depend on.
    const Version version(write.version);
    if (version.absent() == write.was_present) return fail(AbortReason::kValidation);
    note_overwritten(write, version);
  }
  return true;
}

void Occ::install(uint64_t sequence) {
  for (Write& write : writes_.all()) {
    if (write.row != nullptr) store_row(write.tuple->row(), write.row, write.table->row_bytes());
    if (write.changes()) write.version = Version(sequence, write.row == nullptr).word();
  }
}

bool Occ::validate() {
  for (const Read& read : reads_) {
    const Version now(read.tuple->version.load(memory_order_seq_cst));
    if (now.word() == read.version) continue;
    const bool own_lock = now.unlocked().word() == read.version && writes_.contains(read.tuple);
    if (!own_lock) return fail(AbortReason::kValidation);
  }
  return nodes_.unchanged() || fail(AbortReason::kPhantom);
}

const ProtocolRegistration registration({
    "occ",
    "optimistic (Silo): version words, write locks at commit, read and index-node validation",
    [](WorkerContext& context) { return std::make_unique<Occ>(context); },
});

}  // namespace
}  // namespace logjam
