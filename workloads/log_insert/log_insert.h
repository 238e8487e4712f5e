// The log-insert benchmark: a log without an engine (Aether, section 6; ELEDA, section 6.5.1).
//
// Each thread is a worker of the scheme. It repeatedly reserves a hole, copies bytes into the hole,
// and publishes the hole. With logs_per_commit, a transaction is `logs_per_commit` records and a
// commit record, and is acknowledged when the log reports that it is durable.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/stats/histogram.h"
#include "logging/log_scheme.h"
#include "platform/assert.h"
#include "platform/host.h"

namespace logjam::platform {
class WorkerClass;
}

namespace logjam::log_insert {

// The record sizes, which a thread uses in this order again and again (Aether, section 6).
struct RecordSizes {
  std::vector<uint32_t> bytes;

  std::string spec;            // the argument of parse(), without ":OUTLIER"
  uint32_t outlier_bytes = 0;  // 0: no record is an outlier

  // Sets the members above. `given` is a size, or `dist:SMALL,LARGE,MEAN`: records of the sizes
  // SMALL and LARGE in random order, with the mean size MEAN. `dist:` alone means Aether's 40, 264
  // and 120 B. With `:OUTLIER` after either form, one record in each group of 60 has the size
  // OUTLIER (Aether, Fig. 10). `seed` determines the outlier's index in the group. With a fixed
  // index, all threads would fill outliers at the same time, and no small record would wait for an
  // outlier. Returns an empty string, or in one sentence why `given` is refused.
  std::string parse(const std::string& given, uint64_t seed);

  // Returns the index in `bytes` of a thread's first size. The threads' indexes are evenly spaced.
  size_t first(uint32_t thread, uint32_t threads) const {
    LJ_ASSERT(!bytes.empty() && thread < threads);
    return bytes.size() * thread / threads;
  }
  uint32_t largest() const {
    LJ_ASSERT(!bytes.empty());
    return std::ranges::max(bytes);
  }
  uint32_t smallest() const {
    LJ_ASSERT(!bytes.empty());
    return std::ranges::min(bytes);
  }
};

// The work that is measured in place of a log (FloorLog). With kNone, a log is measured.
enum class Floor : uint8_t { kNone, kCopy, kFetchAdd };

struct Options {
  uint32_t threads = 1;
  double warmup_seconds = 0;
  double seconds = 1;
  uint64_t inserts = 0;  // a thread ends after this number of inserts; 0: only time ends the run
  RecordSizes sizes;
  bool local = false;  // copy into the thread's own memory, which stays in the core's L1 cache
  // Every `sync_every`-th insert of a thread synchronises: the insert gets a larger sequence number
  // than the latest synchronising insert of any thread. 0: no insert synchronises.
  uint64_t sync_every = 0;
  uint32_t logs_per_commit = 0;  // 0: no transactions
  bool wait = false;             // wait for each commit before the next transaction
  uint32_t pipeline_depth = 1;   // unacknowledged transactions of a thread that does not wait
  bool seal = false;             // write valid records with checksums, and not arbitrary bytes
  uint64_t run = 0;              // the log's run number, for the checksums
  bool pin = true;               // pin thread i to core i
  const platform::WorkerClass* worker_class = nullptr;  // null: the class of the process
  bool polls = true;  // without logs_per_commit, threads poll the log regularly
};

struct Result {
  double seconds = 0;  // this and all other members are about the measured phase only
  uint64_t inserts = 0, bytes = 0, commits = 0;
  uint64_t least_inserts = 0, most_inserts = 0;  // by a single thread
  HistogramSum commit;  // ticks, from a transaction's first reserve to its acknowledgement
  platform::ProcessUse usage;
  Counters counters;
};

inline constexpr uint32_t kCommitRecordBytes = 32;

// Runs the benchmark on a running scheme. On return, all threads have ended and all reservations
// are published, so the caller may stop the scheme.
Result insert_into(LogScheme& scheme, const Options& options);
// Runs the benchmark with a FloorLog: kCopy only copies, kFetchAdd also does a fetch-and-add.
Result insert_into_floor(Floor floor, uint64_t ring_bytes, const Options& options);

}  // namespace logjam::log_insert
