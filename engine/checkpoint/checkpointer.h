// Takes fuzzy checkpoints while transactions run (Poplar, section 5), with a daemon and one writer
// thread for each log directory. The steps of a checkpoint:
//
//   1. Reclaimers pause: until step 3 has ended, no tuple leaves an index.
//   2. The positions of the RSN: for each stream, the daemon takes the end of a record before which
//      the log has no hole (LogScheme::published_positions).
//   3. The walk: the writers copy all tuples, present and absent, with their versions. A writer
//      waits for a tuple that a transaction has locked (try_copy_committed()).
//   4. The wait: the daemon waits until each stream is durable up to its position. It also waits
//      until a transaction that has read the largest number that step 3 copied would be safe.
//   5. The numbers of the RSN: for each stream, the daemon takes a sequence number up to which the
//      stream lacks no record (LogScheme::durable_sequences). It also takes the end of a record up
//      to which the stream is durable. No record up to that number lies after that end.
//   6. The manifest says that the checkpoint is complete. In the same step it marks as removable
//      all checkpoints before the last two, and the log before the RSN of the older of the two.
//
// Why this is enough. A transaction locks all rows that it writes before it reserves its record (or
// the first of its operation records), and keeps the locks until it has installed its writes. So
// the walk finds the writes of every record before the RSN, or later writes of the same rows (R1).
// All records after the RSN are replayed, and the write with the larger sequence number wins (R3).
// Step 4 ensures that a later cut contains the transactions whose writes the walk copied (R2, R4).
//
// An erased row is in the checkpoint as an absent tuple, so the replay of an older insert cannot
// bring the row back; step 1 keeps such tuples in tables that reclaim them. A tuple that was
// reclaimed before step 1 needs no tombstone: its erase was safe, and so were all earlier writes of
// the row, which lie before the RSN. (In such tables a blind write depends on the write before it,
// because Run::make_checkpointer() notes a membership change.) A truncated stream without a record
// after its RSN does not lower the cut: step 5 records up to which number the stream is complete.
//
// The last two checkpoints stay, with all records after the earlier checkpoint's RSN. If the later
// checkpoint is corrupt, recovery loads the earlier one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/checkpoint/commit_point_request.h"
#include "engine/storage/database.h"
#include "engine/storage/reclaimer.h"
#include "logging/format/manifest_file.h"
#include "logging/log_scheme.h"
#include "platform/mutex.h"
#include "platform/thread.h"
#include "platform/thread_annotations.h"

namespace logjam {

struct CheckpointOptions {
  LogManifest* manifest = nullptr;  // the log's manifest; outlives all users of the options
  double every_seconds = 0;         // seconds between two starts; 0: never
  uint64_t every_bytes = 0;         // bytes of log between two starts; 0: never
  double bytes_per_second = 0;      // of all writers together; 0: no limit
  uint32_t files = 1;               // files of rows in each directory
  // By directory: the socket on whose cores the writer runs. Empty: writers run on all cores.
  std::vector<int> sockets = {};
  // The part of each checkpoint that is known before it begins: ordinal, revision, flags.
  Checkpoint about;
  // Releases the log up to the given positions (Log::release).
  std::function<void(const std::vector<uint64_t>&)> release_log = nullptr;
  // Tests: called after each step, with its name.
  std::function<void(const char*)> after_step = [](const char*) {};

  bool any() const { return every_seconds > 0 || every_bytes > 0; }
};

// The checkpoints of a run's measured phase.
struct CheckpointStats {
  uint64_t completed = 0;
  uint64_t bytes = 0;          // of the completed checkpoints
  double seconds = 0;          // during which a checkpoint was being taken
  uint64_t transactions = 0;   // acknowledged in these seconds
  double longest_seconds = 0;  // the longest time from step 1 to step 6
};

// Chooses the checkpoint's number and id, enters it into the manifest as incomplete, and makes its
// directories. Sets `wrong` to an empty string, or to one sentence about a failure.
Checkpoint begin_checkpoint(const CheckpointOptions& options, std::string* wrong);

// Writes all tuples of `database` to the files of `checkpoint`, which has begun. Sets the fields
// `files`, `sequence` and `tables` of `checkpoint`. Returns an empty string, RowWriter::kAbandoned,
// or one sentence about a failure.
std::string write_rows(Database& database, const CheckpointOptions& options,
                       const std::function<bool()>& stops, Checkpoint* checkpoint);

// Executes step 6, and then removes the files and the log that step 6 marks. Keeps `latest`, and
// the last complete checkpoint before it whose files exist.
void complete_checkpoint(const CheckpointOptions& options, const Checkpoint& latest);

void abandon_checkpoint(const CheckpointOptions& options, uint64_t number);

// Takes a checkpoint that covers the whole run with the ordinal of options.about. The manifest has
// the end of this run. No transaction may run. Sets `wrong` as begin_checkpoint() does.
Checkpoint checkpoint_at_end(Database& database, const CheckpointOptions& options,
                             std::string* wrong);

class Checkpointer {
 public:
  // The arguments outlive the object. `acknowledged` counts the acknowledged transactions.
  Checkpointer(const CheckpointOptions& options, Database& database, LogScheme& log, Epochs& epochs,
               CommitPointRequest& question, std::function<uint64_t()> acknowledged);
  ~Checkpointer() { stop(); }

  void start();
  // Ends the daemon, and abandons a checkpoint that is not complete. Call it on the thread that
  // called start(), after each worker has called Epochs::leave().
  void stop();

  void begin_to_measure();
  CheckpointStats stats() const;

 private:
  void daemon();
  bool due();
  void take();
  bool wait_until_safe(const Checkpoint& checkpoint);
  bool complete_rsn(Checkpoint* checkpoint);
  bool wait_until_durable(const std::vector<uint64_t>& positions);
  bool stopping() const { return stopping_.load(platform::memory_order_relaxed); }
  uint64_t durable_bytes() const;

  const CheckpointOptions& options_;
  Database& database_;
  LogScheme& log_;
  Epochs& epochs_;
  CommitPointRequest& question_;
  const std::function<uint64_t()> acknowledged_;
  // Only for the daemon: the latest checkpoint's start, and the bytes of log durable at that time.
  uint64_t began_ns_ = 0, began_bytes_ = 0;
  platform::atomic<bool> stopping_{false};
  platform::thread thread_;
  mutable platform::mutex mutex_;
  CheckpointStats stats_ LJ_GUARDED_BY(mutex_);
  uint64_t taking_since_ns_ LJ_GUARDED_BY(mutex_) = 0;  // 0: no checkpoint is being taken
  uint64_t acknowledged_before_ LJ_GUARDED_BY(mutex_) = 0;
};

}  // namespace logjam
