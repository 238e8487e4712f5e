// The common part of the protocols whose transactions read from a snapshot: snapshot isolation, and
// its serializable form. The newest version of each row is in its tuple, older versions are in a
// chain (engine/storage/old_version.h). `Protocol` derives from SnapshotReads<Protocol>, and
// provides commit() and
//
//   note_version(tuple, begin)   notes a read of the row's version with this begin stamp
//   note_scan(index)             notes that the transaction depends on keys of an index; returns
//                                whether its commit must find the index nodes unchanged
//   note_insert(index)           notes that the transaction has inserted an entry
//
// A transaction reads the versions that were committed when it began: its *snapshot* is the last
// stamp of the commit clock at begin(). It waits only for a row whose present version it needs,
// while another transaction commits a write of this row. The first committer wins: a transaction
// aborts if a row that it writes has a version that is newer than its snapshot.
//
// Protocol. Commit locks the write set by the tuples' lock bits (version_locks.h), draws the commit
// stamp by incrementing the clock, stores the rows and their old versions, and unlocks. A reader
// loads the clock (acquire) before it looks for a row. If the reader's snapshot contains a commit
// stamp, the clock's increment has released the lock bits that were set before it. So the reader
// finds each row of that transaction locked, and waits, or finds the new version. If the reader
// finds a row unlocked with a begin stamp in its snapshot, each later writer of the row locks it
// after the reader began, and draws a stamp beyond the snapshot.
//
// A unique secondary key is no matter of snapshots: two transactions that insert the same key write
// different rows. So an insert reads the present versions of the rows with the key. It validates
// them, and the index nodes, after it has locked its writes, as OCC does (proof in occ.cc).
//
// A snapshot may contain commits that a crash can still take back (SnapshotRule). Under kDurable,
// the snapshot is the durable prefix (commit_clock.h). So a transaction that has only read waits
// for nothing, unless it has looked for a unique key, and thus read present versions. A transaction
// that writes a row aborts until the durable prefix contains the row's present version.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "cc/version_locks.h"
#include "engine/storage/old_version.h"
#include "platform/assert.h"
#include "platform/thread_annotations.h"

namespace logjam {

template <class Protocol>
class SnapshotReads : public VersionLocks<Protocol> {
 public:
  explicit SnapshotReads(WorkerContext& context)
      : VersionLocks<Protocol>(context),
        clock_(context.database->commit_clock()),
        rule_(context.options.snapshot) {
    LJ_ASSERT((rule_ == SnapshotRule::kDurable) == clock_.tracks());
  }

  void begin(bool) override LJ_REQUIRES(platform::worker_role) {
    LJ_ASSERT(this->holds_no_lock() && !checks_unique_);
    this->reset();
    unique_reads_.clear();
    nodes_.clear();
    snapshot_ = rule_ == SnapshotRule::kDurable ? clock_.durable_prefix() : clock_.last();
  }

  // TransactionBase and VersionLocks require the next functions.

  NodeCheck track_node(NodeVersion node, const Index& index) {
    deps_.reads = true;
    if (!self().note_scan(index) || nodes_.remember(node)) return NodeCheck::kUnchanged;
    fail(AbortReason::kPhantom);
    return NodeCheck::kAbort;
  }

  bool read_tuple(Tuple& tuple, uint32_t bytes, const std::byte** row) {
    if (const Write* own = writes_.find(&tuple)) {
      *row = own->row;
      return true;
    }
    std::byte* const copy = this->rows_.allocate(bytes);
    Seen seen{copy, {}, 0};
    const auto attempt = [&] { return try_read(tuple, bytes, copy, &seen); };
    if (!attempt() && !this->spin_until(tuple, attempt)) return false;
    this->note_read(tuple, seen.version);
    self().note_version(tuple, seen.begin);
    if (checks_unique_) unique_reads_.push_back({&tuple, seen.version.word()});
    *row = seen.version.absent() ? nullptr : seen.row;
    return true;
  }

  bool read_for_update(Tuple& tuple, uint32_t bytes, std::byte* copy, Version* version) {
    const auto attempt = [&] { return this->try_load(tuple, bytes, copy, version); };
    if (!attempt() && !this->spin_until(tuple, attempt)) return false;
    const uint64_t begin = begin_stamp(newest_old_version(tuple));
    if (begin > snapshot_) return fail(AbortReason::kValidation);
    this->note_read(tuple, *version);
    self().note_version(tuple, begin);
    return true;
  }

  bool prepare_blind_write(Tuple& tuple, Version* version) {
    *version = tuple.load_version();
    return version->removed() || is_in_snapshot(tuple) || fail(AbortReason::kValidation);
  }

  bool insert_entry(Index& index, Keyed* entry, InsertResult* result) {
    changes_.clear();
    *result = index.insert(entry, *context_.arena, nullptr, &changes_, &this->finger_);
    if (result->inserted) self().note_insert(index);
    return nodes_.apply(changes_) || fail(AbortReason::kPhantom);
  }

  void checks_unique(bool checks) { checks_unique_ = checks; }

  bool may_overwrite(const Write& write) { return is_in_snapshot(*write.tuple); }

 protected:
  using Base = VersionLocks<Protocol>;
  using Base::context_;
  using Base::deps_;
  using Base::fail;
  using Base::log_;
  using Base::writes_;

  bool checks_unique() const { return checks_unique_; }

  // Returns whether the versions and nodes that must be unchanged are so.
  bool validate() {
    for (const Read& read : unique_reads_) {
      if (!this->is_unchanged(*read.tuple, read.version)) return fail(AbortReason::kValidation);
    }
    return nodes_.unchanged() || fail(AbortReason::kPhantom);
  }

  uint64_t draw_stamp() LJ_REQUIRES(platform::worker_role) {
    if (clock_.tracks()) clock_.announce(context_.id);
    return context_.commit_stamp = clock_.draw();
  }

  // Commits a transaction that changes no row.
  Status commit_reads() LJ_REQUIRES(platform::worker_role) {
    const bool waits = rule_ == SnapshotRule::kAcknowledged ||
                       (rule_ == SnapshotRule::kDurable && !unique_reads_.empty());
    this->commit_point_ = waits ? log_.commit_read_only(deps_) : CommitPoint{};
    this->unlock();
    return Status::kOk;
  }

  // Commits a transaction that holds the locks of its writes. `stamp`: from draw_stamp().
  // `successor`: OldVersion::successor of the overwritten versions.
  Status commit_writes(uint64_t stamp, uint64_t successor) LJ_REQUIRES(platform::worker_role) {
    log_.reserve(deps_, writes_.all());
    const uint64_t sequence = log_.sequence();
    if (context_.observer != nullptr) context_.observer->serialized();
    if (!log_.fills_after_unlock()) this->commit_point_ = log_.finish();
    for (Write& write : writes_.all()) {
      if (write.changes()) keep_old_version(write, stamp, successor);
      this->install(write, sequence);
    }
    this->report_erased(sequence);
    this->holds_locks_ = !context_.options.early_lock_release;
    if (!this->holds_locks_) this->unlock();
    if (log_.fills_after_unlock()) this->commit_point_ = log_.finish();
    return Status::kOk;
  }

  CommitClock& clock_;

 private:
  struct Seen {
    const std::byte* row;  // unless the version is absent
    Version version;
    uint64_t begin;  // the begin stamp of the version
  };

  Protocol& self() { return static_cast<Protocol&>(*this); }

  // Returns whether the present version of the row is in the snapshot. If not, another transaction
  // has committed a write of the row since this transaction began.
  bool is_in_snapshot(const Tuple& tuple) const {
    return begin_stamp(newest_old_version(tuple)) <= snapshot_;
  }

  // Reads the version of the row that the snapshot contains, or the present version for a check of
  // a unique key. Returns false if that is the present version, and the tuple is locked or has
  // changed during the copy.
  bool try_read(const Tuple& tuple, uint32_t bytes, std::byte* copy, Seen* seen) const {
    seen->version = tuple.load_version();
    // The reclaimer removes a tuple only if no snapshot contains its row.
    if (seen->version.removed()) {
      *seen = {copy, Version(0, true), 0};
      return !checks_unique_;
    }
    const OldVersion* old = newest_old_version(tuple);
    seen->begin = begin_stamp(old);
    if (checks_unique_ || seen->begin <= snapshot_) {
      seen->row = copy;
      return this->try_load(tuple, bytes, copy, &seen->version) && newest_old_version(tuple) == old;
    }
    while (old->begin > snapshot_) old = old->older;
    *seen = {old->row(), old->word, old->begin};
    return true;
  }

  // Moves the present version of a locked tuple to the chain of old versions.
  void keep_old_version(const Write& write, uint64_t stamp, uint64_t successor)
      LJ_REQUIRES(platform::worker_role) {
    Table& table = *write.table;
    const OldVersion* const older = newest_old_version(*write.tuple);
    OldVersion* const old = table.new_old_version(*context_.arena);
    *old = {begin_stamp(older), stamp, successor, Version(write.version), older};
    if (!old->word.absent()) std::memcpy(old->row(), write.tuple->row(), table.row_bytes());
    write.tuple->lock.store(reinterpret_cast<uint64_t>(old), platform::memory_order_release);
    if (context_.reclaimer != nullptr) context_.reclaimer->note_replaced(table, older);
  }

  const SnapshotRule rule_;
  uint64_t snapshot_ = 0;
  bool checks_unique_ = false;
  std::vector<Read> unique_reads_;
  NodeSet nodes_;
  std::vector<NodeChange> changes_;
};

}  // namespace logjam
