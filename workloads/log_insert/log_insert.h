// The log-insert benchmark: a log without an engine (Aether, section 6; ELEDA, section 6.5.1).
//
// Each thread is a worker of the scheme. In a loop, the thread reserves a hole, copies bytes into
// the hole, and publishes it. With logs_per_commit, a transaction consists of that many records and
// a commit record, and is acknowledged when the log reports it durable.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/stats/histogram.h"
#include "logging/log_scheme.h"
#include "platform/host.h"

namespace logjam::platform {
class WorkerClass;
}

namespace logjam::log_insert {

// Sizes in bytes, in the order of a thread's inserts, which the thread repeats. All are multiples
// of 8.
struct RecordSizes {
  std::vector<uint32_t> bytes;

  std::string spec;            // the specification that was parsed, without its outlier
  uint32_t outlier_bytes = 0;  // 0: no record differs

  // Sets the members above. `given` is a size, or `dist:SMALL,LARGE,MEAN`: two sizes in random
  // order, with shares that make their mean MEAN. `dist:` alone means Aether's 40, 264 and 120 B.
  // With `:OUTLIER` after either, one record in 60 has that size instead (Aether, Fig. 10). `seed`
  // draws its place in each group of 60. With a fixed place all threads would fill their outliers
  // at the same time, and no small record would wait for one. Returns an empty string, or why the
  // arguments are refused, in one sentence.
  std::string parse(const std::string& given, uint64_t seed);

  // Returns the index in `bytes` at which a thread begins; the threads begin at equal distances.
  // This function and the next two require a successful parse().
  size_t first(uint32_t thread, uint32_t threads) const { return bytes.size() * thread / threads; }
  uint32_t largest() const;
  uint32_t smallest() const;
};

// The work measured in place of a log; kNone: a log is measured.
enum class Floor : uint8_t { kNone, kCopy, kFetchAdd };

struct Options {
  uint32_t threads = 1;
  double warmup_seconds = 0;
  double seconds = 1;
  uint64_t inserts = 0;  // each thread ends after this many; 0: only time ends the run
  RecordSizes sizes;
  bool local = false;  // copy into memory of the thread's own, which stays in its L1 cache
  // Every N-th insert of a thread synchronises: its sequence number is larger than that of the
  // latest synchronising insert of any thread. 0: no insert synchronises.
  uint64_t sync_every = 0;
  uint32_t logs_per_commit = 0;  // 0: no transactions
  bool wait = false;             // wait for each commit before the next transaction
  uint32_t pipeline_depth = 1;   // unacknowledged transactions of a thread that does not wait
  bool seal = false;             // write whole records with checksums instead of plain bytes
  uint64_t run = 0;              // the log's run number, for the checksums
  bool pin = true;               // pin thread i to core i
  const platform::WorkerClass* worker_class = nullptr;  // null: that of the process
  bool polls = true;  // threads without commits poll the log regularly
};

struct Result {
  double seconds = 0;  // of the measured phase, as are all other members
  uint64_t inserts = 0, bytes = 0, commits = 0;
  uint64_t least_inserts = 0, most_inserts = 0;  // of a thread
  HistogramSum commit;  // ticks, from a transaction's first reserve to its acknowledgement
  platform::ProcessUse usage;
  Counters counters;
};

inline constexpr uint32_t kCommitRecordBytes = 32;

// Runs the benchmark on a scheme that has been started. Every reservation is published when the
// call returns, and the scheme can be stopped.
Result insert_into(LogScheme& scheme, const Options& options);
// Runs the benchmark without a log: a plain copy (kCopy), or a fetch-and-add and a copy
// (kFetchAdd), into rings of `ring_bytes`.
Result insert_into_floor(Floor floor, uint64_t ring_bytes, const Options& options);

}  // namespace logjam::log_insert
