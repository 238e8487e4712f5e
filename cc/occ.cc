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
// If two transactions each write a row that the other has read, at most one of them commits. Each
// transaction sets its lock bits before it loads the words that it validates, and all these
// accesses are seq_cst. So at least one of the two sees a lock bit of the other, and aborts. The
// same holds for index nodes. An insert changes the structure word before its transaction locks a
// tuple. The insert does so under a latch, which it takes by a seq_cst read-modify-write.
#include <cstdint>
#include <memory>
#include <vector>

#include "cc/version_locks.h"
#include "platform/assert.h"
#include "platform/thread_annotations.h"

namespace logjam {
namespace {

class Occ final : public VersionLocks<Occ> {
 public:
  using VersionLocks::VersionLocks;

  void begin(bool) override LJ_REQUIRES(platform::worker_role) {
    LJ_ASSERT(holds_no_lock());
    reset();
    reads_.clear();
    nodes_.clear();
  }

  Status commit() override LJ_REQUIRES(platform::worker_role);

  // TransactionBase and VersionLocks require the next functions.

  NodeCheck track_node(NodeVersion node, const Index&) {
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

  bool insert_entry(Index& index, Keyed* entry, InsertResult* result) {
    changes_.clear();
    *result = index.insert(entry, *context_.arena, nullptr, &changes_, &finger_);
    return nodes_.apply(changes_) || fail(AbortReason::kPhantom);
  }

  // Returns true, because the validation checks the reads of the tuple.
  bool may_overwrite(const Write&) { return true; }

 private:
  bool wait_to_load(const Tuple& tuple, uint32_t bytes, std::byte* copy, Version* version) {
    return spin_until(tuple, [&] { return try_load(tuple, bytes, copy, version); });
  }

  bool validate();

  std::vector<Read> reads_;
  NodeSet nodes_;
  std::vector<NodeChange> changes_;
};

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
  if (waited() && log_.failure_leaves_a_hole() && !validate()) return give_up();
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
  for (Write& write : writes_.all()) install(write, sequence);
  report_erased(sequence);
  holds_locks_ = !context_.options.early_lock_release;
  if (!holds_locks_) unlock();
  if (log_.fills_after_unlock()) commit_point_ = log_.finish();
  return Status::kOk;
}

bool Occ::validate() {
  for (const Read& read : reads_) {
    if (!is_unchanged(*read.tuple, read.version)) return fail(AbortReason::kValidation);
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
