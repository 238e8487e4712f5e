// Snapshot isolation (Berenson et al., SIGMOD 1995), by the parts of snapshot_reads.h.
//
// Reads are not validated, and a transaction that writes nothing locks nothing, and draws no stamp.
// Two transactions that each write a row which the other has read may both commit (write skew), so
// executions need not be serializable.
#include <cstdint>
#include <memory>

#include "cc/snapshot_reads.h"
#include "platform/thread_annotations.h"

namespace logjam {
namespace {

class SnapshotIsolation final : public SnapshotReads<SnapshotIsolation> {
 public:
  using SnapshotReads::SnapshotReads;

  Status commit() override LJ_REQUIRES(platform::worker_role);

  // SnapshotReads requires the next functions.
  void note_version(const Tuple&, uint64_t) {}
  // Returns true for checks of unique keys alone: no other read finds the row that another
  // transaction inserts into a node later, because the row is not in the snapshot.
  bool note_scan(const Index&) { return checks_unique(); }
  void note_insert(const Index&) {}
};

Status SnapshotIsolation::commit() {
  if (!postings_.post_moved()) return give_up();
  if (writes_.empty()) return commit_reads();
  writes_.sort_by_address();
  if (!lock_writes() || !validate()) return give_up();
  return writes_.changes_anything() ? commit_writes(draw_stamp(), 0) : commit_reads();
}

const ProtocolRegistration registration({
    .name = "si",
    .what = "snapshot isolation: reads from a snapshot, the first committer wins; write skew",
    .make = [](WorkerContext& context) { return std::make_unique<SnapshotIsolation>(context); },
    .serializable = false,
    .serial_in_commit_order = false,
    .keeps_old_versions = true,
});

}  // namespace
}  // namespace logjam
