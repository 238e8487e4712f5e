// The Serial Safety Net (SSN) over snapshot isolation: serializable executions (Wang, Johnson,
// Fekete and Pandis, VLDB Journal 2017).
//
// A transaction T reads from its snapshot, and the first committer wins (snapshot_reads.h). T also
// has a place c(T) in the order of commits: twice its commit stamp, or one more than twice the
// clock's last stamp if T changes no row. Commit computes two bounds:
//
//   eta(T)   the largest c(P) of the transactions P that precede T and have a smaller place: that
//            wrote a version that T read or overwrites, or that read a version that T overwrites
//   pi(T)    the smallest of c(T) and of the pi(S) of the transactions S that follow T although
//            they have a smaller place: that overwrote a version that T read
//
// T aborts unless eta(T) < pi(T): otherwise a predecessor of T may also follow T. (This is the
// paper's exclusion window: each cycle of dependencies has a transaction with pi <= eta.) The old
// version that S leaves holds pi(S) (OldVersion::successor). The places of readers are in
// ReadStamps, by row, and by index for reads of key ranges and of absent keys. Rows that share a
// stamp, and one stamp for an index, give a larger eta, which only aborts more transactions.
//
// Protocol. Commit locks its writes, takes its place, loads the read stamps of its writes and of
// the indexes into which it has inserted, raises the read stamps of its reads, and then looks
// whether its reads were overwritten. The locks, the stamps and the look are seq_cst. Let T have
// read a version that S overwrites:
//
//   - If c(S) < c(T), S locked the row before T took its place. So T finds the row locked, and
//     aborts, or finds the version overwritten, with pi(S).
//   - If c(T) < c(S), S finds T's read stamp, or S loaded the stamps before T raised them. Then T
//     finds the row locked, or overwritten by S with a larger stamp, and aborts.
//
// So of each two transactions with such a dependency, the one with the larger place counts it. An
// insert into an index is a change of a node instead of a row: the nodes that T depends on must be
// unchanged, and an insert has changed its node before its transaction takes its place.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "cc/snapshot_reads.h"
#include "platform/assert.h"
#include "platform/thread_annotations.h"

namespace logjam {
namespace {

class SerialSafetyNet final : public SnapshotReads<SerialSafetyNet> {
 public:
  explicit SerialSafetyNet(WorkerContext& context)
      : SnapshotReads(context), stamps_(*context.read_stamps) {}

  void begin(bool retry) override LJ_REQUIRES(platform::worker_role) {
    SnapshotReads::begin(retry);
    reads_.clear();
    scanned_.clear();
    inserted_.clear();
  }

  Status commit() override LJ_REQUIRES(platform::worker_role);

  // SnapshotReads requires the next functions.
  void note_version(const Tuple& tuple, uint64_t begin) { reads_.push_back({&tuple, begin}); }
  bool note_scan(const Index& index) {
    remember(&scanned_, &index);
    return true;
  }
  void note_insert(const Index& index) { remember(&inserted_, &index); }

 private:
  struct VersionRead {
    const Tuple* tuple;
    uint64_t begin;  // the begin stamp of the version
  };
  using Indexes = std::vector<const Index*>;  // few

  static void remember(Indexes* indexes, const Index* index) {
    if (std::ranges::find(*indexes, index) == indexes->end()) indexes->push_back(index);
  }

  uint64_t eta(uint64_t place);
  void raise_read_stamps(uint64_t place);
  bool find_successors(uint64_t place, uint64_t* pi);

  ReadStamps& stamps_;
  std::vector<VersionRead> reads_;
  Indexes scanned_, inserted_;
};

Status SerialSafetyNet::commit() {
  if (!postings_.post_moved()) return give_up();
  if (!writes_.empty()) {
    writes_.sort_by_address();
    if (!lock_writes()) return give_up();
  }
  const bool changes = writes_.changes_anything();
  const uint64_t stamp = changes ? draw_stamp() : clock_.last();
  const uint64_t place = 2 * stamp + (changes ? 0 : 1);
  const uint64_t least = eta(place);
  raise_read_stamps(place);
  uint64_t pi = place;
  if (!validate() || !find_successors(place, &pi)) return give_up();
  if (least >= pi) {
    fail(AbortReason::kValidation);
    return give_up();
  }
  return changes ? commit_writes(stamp, pi) : commit_reads();
}

// Returns eta. A read stamp above `place` is of a reader with a larger place, which counts the
// dependency itself.
uint64_t SerialSafetyNet::eta(uint64_t place) {
  uint64_t eta = 0;
  for (const VersionRead& read : reads_) eta = std::max(eta, 2 * read.begin);
  for (const Write& write : writes_.all()) {
    if (!write.changes()) continue;
    eta =
        std::max({eta, 2 * begin_stamp(newest_old_version(*write.tuple)), stamps_.of(write.tuple)});
  }
  if (!writes_.changes_anything()) return eta;
  for (const Index* index : inserted_) eta = std::max(eta, stamps_.of(index));
  return std::min(eta, place - 1);
}

// Raises the read stamps of the rows and indexes that the transaction depends on and does not
// change.
void SerialSafetyNet::raise_read_stamps(uint64_t place) {
  for (const VersionRead& read : reads_) {
    if (!writes_.contains(read.tuple)) stamps_.raise(read.tuple, place);
  }
  for (const Write& write : writes_.all()) {
    if (!write.changes()) stamps_.raise(write.tuple, place);
  }
  for (const Index* index : scanned_) stamps_.raise(index, place);
}

// Lowers `*pi` by the transactions that have overwritten a version that this transaction has read.
// Returns false if the transaction must abort.
bool SerialSafetyNet::find_successors(uint64_t place, uint64_t* pi) {
  for (const VersionRead& read : reads_) {
    if (writes_.contains(read.tuple)) continue;  // locked, and the version is the present one
    const Version now(read.tuple->version.load(platform::memory_order_seq_cst));
    if (now.locked()) return fail(AbortReason::kValidation);
    const OldVersion* old = newest_old_version(*read.tuple);
    if (begin_stamp(old) == read.begin) continue;
    while (old->begin != read.begin) old = old->older;
    if (2 * old->end > place) return fail(AbortReason::kValidation);
    *pi = std::min(*pi, old->successor);
  }
  return true;
}

const ProtocolRegistration registration({
    .name = "ssn",
    .what = "serializable snapshots: as si, with the exclusion test of the Serial Safety Net",
    .make = [](WorkerContext& context) { return std::make_unique<SerialSafetyNet>(context); },
    .serial_in_commit_order = false,
    .keeps_old_versions = true,
    .stamps_reads = true,
});

}  // namespace
}  // namespace logjam
