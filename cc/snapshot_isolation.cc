// Snapshot isolation (Berenson et al., SIGMOD 1995), with the newest version of each row in its
// tuple and older versions in a chain (engine/storage/old_version.h).
//
// A transaction reads the versions that were committed when it began: its *snapshot* is the value
// of the commit clock at begin(). It waits only for a row whose present version it needs, while
// another transaction commits a write of this row. Its reads are not validated. The first committer
// wins: a transaction aborts if a row that it writes has a version that is newer than its snapshot.
// A transaction that writes nothing locks nothing, and draws no stamp. Two transactions that each
// write a row which the other has read may both commit (write skew), so executions need not be
// serializable.
//
// Protocol. Commit locks the write set by the tuples' lock bits (version_locks.h), reserves and
// fills its log record, draws the commit stamp by incrementing the clock, stores the rows and their
// old versions, and unlocks. A reader loads the clock (acquire) before it looks for a row. If the
// reader's snapshot contains a commit stamp, the clock's increment has released the lock bits that
// were set before it. So the reader finds each row of that transaction locked, and waits, or finds
// the new version. If the reader finds a row unlocked with a begin stamp in its snapshot, each
// later writer of the row locks it after the reader began, and draws a stamp beyond the snapshot.
//
// A unique secondary key is no matter of snapshots: two transactions that insert the same key write
// different rows. So an insert reads the present versions of the rows with the key, and validates
// them, and the index nodes, after it has locked its writes, as OCC does (proof in occ.cc).
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "cc/version_locks.h"
#include "engine/storage/old_version.h"
#include "platform/assert.h"
#include "platform/thread_annotations.h"

namespace logjam {
namespace {

class SnapshotIsolation final : public VersionLocks<SnapshotIsolation> {
 public:
  explicit SnapshotIsolation(WorkerContext& context)
      : VersionLocks(context), clock_(context.database->commit_clock()) {}

  void begin(bool) override LJ_REQUIRES(platform::worker_role) {
    LJ_ASSERT(holds_no_lock() && !checks_unique_);
    reset();
    unique_reads_.clear();
    unique_nodes_.clear();
    snapshot_ = clock_.load(platform::memory_order_acquire);
  }

  Status commit() override LJ_REQUIRES(platform::worker_role);

  // TransactionBase and VersionLocks require the next functions.

  // Tracks nothing: a row that another transaction inserts into the node is not in this snapshot.
  NodeCheck track_node(NodeVersion node) {
    deps_.reads = true;
    if (!checks_unique_ || unique_nodes_.remember(node)) return NodeCheck::kUnchanged;
    fail(AbortReason::kPhantom);
    return NodeCheck::kAbort;
  }

  bool read_tuple(Tuple& tuple, uint32_t bytes, const std::byte** row) {
    if (const Write* own = writes_.find(&tuple)) {
      *row = own->row;
      return true;
    }
    std::byte* const copy = rows_.allocate(bytes);
    Seen seen{copy, {}};
    const auto attempt = [&] { return try_read(tuple, bytes, copy, &seen); };
    if (!attempt() && !spin_until(tuple, attempt)) return false;
    note_read(tuple, seen.version);
    if (checks_unique_) unique_reads_.push_back({&tuple, seen.version.word()});
    *row = seen.version.absent() ? nullptr : seen.row;
    return true;
  }

  bool read_for_update(Tuple& tuple, uint32_t bytes, std::byte* copy, Version* version) {
    const auto attempt = [&] { return try_load(tuple, bytes, copy, version); };
    if (!attempt() && !spin_until(tuple, attempt)) return false;
    if (!is_in_snapshot(tuple)) return fail(AbortReason::kValidation);
    note_read(tuple, *version);
    return true;
  }

  bool prepare_blind_write(Tuple& tuple, Version* version) {
    *version = tuple.load_version();
    return version->removed() || is_in_snapshot(tuple) || fail(AbortReason::kValidation);
  }

  bool insert_entry(Index& index, Keyed* entry, InsertResult* result) {
    changes_.clear();
    *result = index.insert(entry, *context_.arena, nullptr, &changes_, &finger_);
    return unique_nodes_.apply(changes_) || fail(AbortReason::kPhantom);
  }

  void checks_unique(bool checks) { checks_unique_ = checks; }

  bool may_overwrite(const Write& write) { return is_in_snapshot(*write.tuple); }

 private:
  struct Seen {
    const std::byte* row;  // unless the version is absent
    Version version;
  };

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
      seen->version = Version(0, true);
      return !checks_unique_;
    }
    const OldVersion* old = newest_old_version(tuple);
    if (checks_unique_ || begin_stamp(old) <= snapshot_) {
      seen->row = copy;
      return try_load(tuple, bytes, copy, &seen->version) &&
             (checks_unique_ || newest_old_version(tuple) == old);
    }
    while (old->begin > snapshot_) old = old->older;
    *seen = {old->row(), old->word};
    return true;
  }

  bool validate_unique() {
    for (const Read& read : unique_reads_) {
      if (!is_unchanged(*read.tuple, read.version)) return fail(AbortReason::kValidation);
    }
    return unique_nodes_.unchanged() || fail(AbortReason::kPhantom);
  }

  // Moves the present version of a locked tuple to the chain of old versions.
  void keep_old_version(const Write& write, uint64_t stamp) LJ_REQUIRES(platform::worker_role) {
    Table& table = *write.table;
    const OldVersion* const older = newest_old_version(*write.tuple);
    OldVersion* const old = table.new_old_version(*context_.arena);
    *old = {begin_stamp(older), stamp, Version(write.version), older};
    if (!old->word.absent()) std::memcpy(old->row(), write.tuple->row(), table.row_bytes());
    write.tuple->lock.store(reinterpret_cast<uint64_t>(old), platform::memory_order_release);
    if (context_.reclaimer != nullptr) context_.reclaimer->note_replaced(table, older);
  }

  platform::atomic<uint64_t>& clock_;
  uint64_t snapshot_ = 0;
  bool checks_unique_ = false;
  std::vector<Read> unique_reads_;
  NodeSet unique_nodes_;
  std::vector<NodeChange> changes_;
};

Status SnapshotIsolation::commit() {
  if (!postings_.post_moved()) return give_up();
  if (writes_.empty()) {
    commit_point_ = log_.commit_read_only(deps_);
    return Status::kOk;
  }
  writes_.sort_by_address();
  if (!lock_writes() || !validate_unique()) return give_up();
  if (!writes_.changes_anything()) {
    commit_point_ = log_.commit_read_only(deps_);
    unlock();
    return Status::kOk;
  }

  log_.reserve(deps_, writes_.all());
  const uint64_t sequence = log_.sequence();
  if (context_.observer != nullptr) context_.observer->serialized();
  if (!log_.fills_after_unlock()) commit_point_ = log_.finish();
  const uint64_t stamp = clock_.fetch_add(1, platform::memory_order_acq_rel) + 1;
  for (Write& write : writes_.all()) {
    if (write.changes()) keep_old_version(write, stamp);
    install(write, sequence);
  }
  report_erased(sequence);
  holds_locks_ = !context_.options.early_lock_release;
  if (!holds_locks_) unlock();
  if (log_.fills_after_unlock()) commit_point_ = log_.finish();
  return Status::kOk;
}

const ProtocolRegistration registration({
    .name = "si",
    .what = "snapshot isolation: reads from a snapshot, the first committer wins; write skew",
    .make = [](WorkerContext& context) { return std::make_unique<SnapshotIsolation>(context); },
    .serializable = false,
    .keeps_old_versions = true,
});

}  // namespace
}  // namespace logjam
