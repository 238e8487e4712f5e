// Optimistic concurrency control, as in Silo (Tu et al., SOSP 2013).
//
// A transaction reads without writing to shared memory. It remembers the version word of every
// tuple that it reads, and the structure word of every index node on whose keys it depends. Commit
// locks the write set, validates that the remembered words are unchanged, draws the sequence
// number, logs, installs the rows, and unlocks each tuple with its new version. With
// LogTraits::fills_after_unlock, commit writes the record last. If the scheme requires it
// (NumberDrawn), commit draws the number before the validation. If the validation then fails, a
// void record fills the space that the log reserved with the number.
//
// Protocol on Tuple::version. A committing transaction sets the lock bit by compare-and-swap. Then
// only that transaction stores the row. To unlock, it stores the word without the lock bit
// (release). A reader loads the word (acquire), copies the row, and loads the word again. If the
// two words are equal and unlocked, the copy is whole.
//
// If two transactions each write a row that the other has read, at most one of them commits. Each
// transaction sets its lock bits before it loads the words that it validates, and all these
// accesses are seq_cst. So at least one of the two sees a lock bit of the other, and aborts. The
// same holds for index nodes. An insert changes the structure word before its transaction locks a
// tuple. The insert does so under a latch, which it takes by a seq_cst read-modify-write.
//
// Transactions take write locks in address order, so they do not deadlock. Every wait for a lock is
// bounded, because without early lock release the lock's holder may be parked until a flush ends.
// No transaction waits for a tuple that the reclaimer has removed.
#include <cstdint>
#include <memory>
#include <vector>

#include "cc/transaction_base.h"
#include "platform/assert.h"
#include "platform/clock.h"
#include "platform/racy_copy.h"
#include "platform/spin.h"
#include "platform/thread_annotations.h"

namespace logjam {
namespace {

using platform::memory_order_relaxed;
using platform::memory_order_release;
using platform::memory_order_seq_cst;

class Occ final : public TransactionBase<Occ> {
 public:
  using TransactionBase::TransactionBase;

  void begin(bool) override LJ_REQUIRES(platform::worker_role) {
    LJ_ASSERT(locked_ == 0);
    reset();
    reads_.clear();
    nodes_.clear();
  }

  Status commit() override LJ_REQUIRES(platform::worker_role);

  void abort() override LJ_REQUIRES(platform::worker_role) {
    unlock();
    report_abandoned();
  }

  void release_locks() override LJ_REQUIRES(platform::worker_role) {
    LJ_ASSERT(holds_locks_);
    unlock();
    holds_locks_ = false;
  }

  // TransactionBase requires the next seven functions of every protocol.

  NodeCheck track_node(NodeVersion node) {
    deps_.reads = true;
    if (nodes_.remember(node)) return NodeCheck::kUnchanged;
    fail(AbortReason::kPhantom);
    return NodeCheck::kAbort;
  }

  bool read_tuple(Tuple& tuple, uint32_t bytes, const std::byte** row) {
    if (const Write* own = writes_.find(&tuple)) {
      *row = own->row;
      return true;
    }
    std::byte* copy = rows_.allocate(bytes);
    Version version;
    if (!read_for_update(tuple, bytes, copy, &version)) return false;
    *row = version.absent() ? nullptr : copy;
    return true;
  }

  bool read_for_update(Tuple& tuple, uint32_t bytes, std::byte* copy, Version* version) {
    if (!try_load(tuple, bytes, copy, version) && !wait_to_load(tuple, bytes, copy, version)) {
      return false;
    }
    reads_.push_back({&tuple, version->word()});
    note_read(tuple, *version);
    return true;
  }

  bool prepare_blind_write(Tuple& tuple, Version* version) {
    *version = tuple.load_version();
    return true;
  }

  void init_tuple(Tuple&) {}

  // Locks nothing, so other transactions may insert into the same absent tuple. Only the first of
  // these transactions can commit, because lock_writes() aborts the others.
  void tuple_inserted(Tuple&) {}

  bool insert_entry(Index& index, Keyed* entry, InsertResult* result) {
    changes_.clear();
    *result = index.insert(entry, *context_.arena, nullptr, &changes_, &finger_);
    return nodes_.apply(changes_) || fail(AbortReason::kPhantom);
  }

 private:
  // The limit of every wait for a lock, in rounds of BackOff. A commit in progress ends within
  // microseconds, long before this limit, if its worker has a core.
  static constexpr uint32_t kMaxRounds = 400;
  static constexpr uint64_t kSleepNs = 20'000;

  static bool try_load(const Tuple& tuple, uint32_t bytes, std::byte* copy, Version* version) {
    *version = tuple.load_version();
    if (version->locked()) return false;
    if (copy == nullptr || version->absent()) return true;
    load_row(copy, tuple.row(), bytes);
    if (tuple.version.load(memory_order_relaxed) != version->word()) return false;
    platform::racy_load_is_whole(tuple.row(), bytes);
    return true;
  }

  bool wait_to_load(const Tuple& tuple, uint32_t bytes, std::byte* copy, Version* version) {
    return spin_until(tuple, [&] { return try_load(tuple, bytes, copy, version); });
  }

  static bool try_lock(Write& write) {
    uint64_t word = write.tuple->version.load(memory_order_relaxed);
    if (Version(word).locked()) return false;
    write.version = word;
    return write.tuple->version.compare_exchange_strong(word, word | Version::kLocked,
                                                        memory_order_seq_cst);
  }

  // Calls `attempt`, which fails while `tuple` is locked, until it succeeds. Returns false, and
  // notes the reason, if the transaction must abort.
  template <class Try>
  bool spin_until(const Tuple& tuple, const Try& attempt);

  bool lock_writes();
  bool validate();
  void unlock() {
    for (const Write& write : writes_.all().first(locked_)) {
      LJ_ASSERT_IN_TESTS(write.tuple->load_version().locked());
      LJ_ASSERT_IN_TESTS(!Version(write.version).locked());
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
  size_t locked_ = 0;    // how many of the sorted writes are locked
  bool waited_ = false;  // the transaction has waited for a write lock
};

template <class Try>
bool Occ::spin_until(const Tuple& tuple, const Try& attempt) {
  const ActivityScope scope(*context_.breakdown, Activity::kLockWait);
  for (platform::BackOff wait; wait.rounds() < kMaxRounds;) {
    wait.once();
    if (attempt()) return true;
    if (tuple.load_version().removed()) break;
    if (!wait.waits_longest()) continue;
    if (context_.acknowledge_durable) context_.acknowledge_durable();
    // Without early lock release, the lock may be held until a flush ends. With more workers than
    // cores, workers that only yield to each other would take the cores that the flush needs. So
    // the worker sleeps.
    if (!context_.options.early_lock_release) platform::sleep_ns(kSleepNs);
  }
  return fail(AbortReason::kLockBusy);
}

Status Occ::commit() {
  if (!postings_.post_moved()) return give_up();
  if (writes_.empty()) {
    if (!validate()) return give_up();
    commit_point_ = log_.commit_read_only(deps_);
    return Status::kOk;
  }
  writes_.sort_by_address();
  if (!lock_writes()) return give_up();
  // A transaction that waited for a lock has usually read the row before the lock's last holder
  // changed the row, so the validation usually fails. If it fails after the number is drawn, it
  // leaves a void record, which takes as long to write as a valid record. Meanwhile other
  // transactions wait for these locks. So validate now, before the number is drawn.
  if (waited_ && log_.failure_leaves_a_hole() && !validate()) return give_up();
  if (!writes_.changes_anything()) {
    if (!validate()) return give_up();
    commit_point_ = log_.commit_read_only(deps_);
    unlock();
    return Status::kOk;
  }

  log_.before_validation(deps_, writes_.all());
  if (log_.stamps_reads()) {
    // Rows that the transaction changes need no stamp, because the number becomes their version.
    for (const Read& read : reads_) {
      if (!writes_.contains(read.tuple)) log_.stamp_read(*read.tuple);
    }
    for (const Write& write : writes_.all()) {
      if (!write.changes()) log_.stamp_read(*write.tuple);
    }
  }
  if (!validate()) {
    log_.validation_failed();
    return give_up();
  }
  log_.after_validation(deps_, writes_.all());
  const uint64_t sequence = log_.sequence();
  if (context_.observer != nullptr) context_.observer->serialized();
  if (!log_.fills_after_unlock()) commit_point_ = log_.finish();
  install(sequence);
  report_erased(sequence);
  holds_locks_ = !context_.options.early_lock_release;
  if (!holds_locks_) unlock();
  if (log_.fills_after_unlock()) commit_point_ = log_.finish();
  return Status::kOk;
}

bool Occ::lock_writes() {
  waited_ = false;
  for (Write& write : writes_.all()) {
    LJ_ASSERT_IN_TESTS(locked_ == 0 || writes_.all()[locked_ - 1].tuple < write.tuple);
    if (!try_lock(write)) {
      waited_ = true;
      if (!spin_until(*write.tuple, [&] { return try_lock(write); })) return false;
    }
    ++locked_;
    // A blind write depends on the presence of its row, and an insert depends on the absence of its
    // row. The read set does not contain these dependencies, so they are checked here.
    const Version version(write.version);
    if (version.absent() == write.was_present) return fail(AbortReason::kValidation);
    note_overwritten(write, version);
  }
  return true;
}

void Occ::install(uint64_t sequence) {
  for (Write& write : writes_.all()) {
    LJ_ASSERT_IN_TESTS(write.tuple->load_version().locked());
    if (write.row != nullptr) store_row(write.tuple->row(), write.row, write.table->row_bytes());
    if (write.changes()) write.version = Version(sequence, write.row == nullptr).word();
  }
}

bool Occ::validate() {
  LJ_ASSERT_IN_TESTS(locked_ == writes_.all().size());
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
    /*optimistic=*/true,
});

}  // namespace
}  // namespace logjam
