// The common part of the protocols that lock rows only at commit, by the lock bit of their version
// words: OCC and snapshot isolation. `Protocol` derives from VersionLocks<Protocol>, and provides
// the seven functions of TransactionBase, and
//
//   may_overwrite(write)   whether the transaction may still change the tuple that it has just
//                          locked
//
// Protocol on Tuple::version. A committing transaction sets the lock bit by compare-and-swap. Then
// only that transaction stores the row. To unlock, it stores the word without the lock bit
// (release). A reader loads the word (acquire), copies the row, and loads the word again. If the
// two words are equal and unlocked, the copy is whole.
//
// Transactions take write locks in address order, so they do not deadlock. Every wait for a lock is
// bounded, because without early lock release the lock's holder may be parked until a flush ends.
// No transaction waits for a tuple that the reclaimer has removed.
#pragma once

#include <cstdint>
#include <vector>

#include "cc/transaction_base.h"
#include "platform/assert.h"
#include "platform/clock.h"
#include "platform/racy_copy.h"
#include "platform/spin.h"
#include "platform/thread_annotations.h"

namespace logjam {

template <class Protocol>
class VersionLocks : public TransactionBase<Protocol> {
 public:
  using TransactionBase<Protocol>::TransactionBase;

  void abort() override LJ_REQUIRES(platform::worker_role) {
    unlock();
    this->report_abandoned();
  }

  void release_locks() override LJ_REQUIRES(platform::worker_role) {
    LJ_ASSERT(this->holds_locks_);
    unlock();
    this->holds_locks_ = false;
  }

  bool prepare_blind_write(Tuple& tuple, Version* version) {
    *version = tuple.load_version();
    return true;
  }

  void init_tuple(Tuple&) {}

  // Locks nothing, so other transactions may insert into the same absent tuple. Only the first of
  // these transactions can commit, because lock_writes() aborts the others.
  void tuple_inserted(Tuple&) {}

 protected:
  using Base = TransactionBase<Protocol>;
  using Base::context_;
  using Base::fail;
  using Base::holds_locks_;
  using Base::note_overwritten;
  using Base::writes_;

  static bool try_load(const Tuple& tuple, uint32_t bytes, std::byte* copy, Version* version) {
    *version = tuple.load_version();
    if (version->locked()) return false;
    if (copy == nullptr || version->absent()) return true;
    load_row(copy, tuple.row(), bytes);
    if (tuple.version.load(platform::memory_order_relaxed) != version->word()) return false;
    platform::racy_load_is_whole(tuple.row(), bytes);
    return true;
  }

  // Calls `attempt`, which fails while `tuple` is locked, until it succeeds. Returns false, and
  // notes the reason, if the transaction must abort. Defined outside the class: otherwise the
  // compiler puts the wait into each read, which costs 1 % of a transaction's instructions.
  template <class Try>
  bool spin_until(const Tuple& tuple, const Try& attempt);

  // Locks all writes, and notes their dependencies. Returns false if the transaction must abort.
  bool lock_writes() {
    waited_ = false;
    for (Write& write : writes_.all()) {
      LJ_ASSERT_IN_TESTS(locked_ == 0 || writes_.all()[locked_ - 1].tuple < write.tuple);
      if (!try_lock(write)) {
        waited_ = true;
        if (!spin_until(*write.tuple, [&] { return try_lock(write); })) return false;
      }
      ++locked_;
      const Version version(write.version);
      // A blind write depends on the presence of its row, and an insert depends on the absence of
      // its row. The protocol has not remembered these dependencies, so they are checked here.
      if (version.absent() == write.was_present || !self().may_overwrite(write)) {
        return fail(AbortReason::kValidation);
      }
      note_overwritten(write, version);
    }
    return true;
  }

  // Returns whether `tuple` still has the version word `seen`; this transaction may hold its lock.
  // Call it after lock_writes().
  bool is_unchanged(const Tuple& tuple, uint64_t seen) {
    LJ_ASSERT_IN_TESTS(locked_ == writes_.all().size());
    const Version now(tuple.version.load(platform::memory_order_seq_cst));
    return now.word() == seen || (now.unlocked().word() == seen && writes_.contains(&tuple));
  }

  // Stores the new row of a locked tuple. unlock() then stores its new version word.
  void install(Write& write, uint64_t sequence) {
    LJ_ASSERT_IN_TESTS(write.tuple->load_version().locked());
    if (write.row != nullptr) store_row(write.tuple->row(), write.row, write.table->row_bytes());
    if (write.changes()) write.version = Version(sequence, write.row == nullptr).word();
  }

  void unlock() {
    for (const Write& write : writes_.all().first(locked_)) {
      LJ_ASSERT_IN_TESTS(write.tuple->load_version().locked());
      LJ_ASSERT_IN_TESTS(!Version(write.version).locked());
      write.tuple->version.store(write.version, platform::memory_order_release);
    }
    locked_ = 0;
  }

  Status give_up() {
    unlock();
    return Status::kAbort;
  }

  bool holds_no_lock() const { return locked_ == 0; }
  // Returns whether lock_writes() has waited.
  bool waited() const { return waited_; }

 private:
  // The limit of every wait for a lock, in rounds of BackOff. A commit in progress ends within
  // microseconds, long before this limit, if its worker has a core.
  static constexpr uint32_t kMaxRounds = 400;
  static constexpr uint64_t kSleepNs = 20'000;

  Protocol& self() { return static_cast<Protocol&>(*this); }

  static bool try_lock(Write& write) {
    uint64_t word = write.tuple->version.load(platform::memory_order_relaxed);
    if (Version(word).locked()) return false;
    write.version = word;
    return write.tuple->version.compare_exchange_strong(word, word | Version::kLocked,
                                                        platform::memory_order_seq_cst);
  }

  size_t locked_ = 0;  // how many of the sorted writes are locked
  bool waited_ = false;
};

template <class Protocol>
template <class Try>
bool VersionLocks<Protocol>::spin_until(const Tuple& tuple, const Try& attempt) {
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

}  // namespace logjam
