// The log-insert benchmark: a log without an engine (Aether, section 6; ELEDA, section 6.5.1).
//
// Each thread is a worker of the scheme: it reserves a hole, copies bytes into it, publishes it,
// and does the next. With logs_per_commit, that many records and a commit record are a transaction,
// acknowledged when the log says that it is durable.
#pragma once

#include <cstdint>
#include <string>

#include "engine/stats/histogram.h"
#include "engine/stats/usage.h"
#include "logging/log_scheme.h"
#include "workloads/log_insert/record_sizes.h"

namespace logjam::log_insert {

enum class Floor : uint8_t { kNone, kCopy, kFetchAdd };

struct Options {
  uint32_t threads = 1;
  double warmup_seconds = 0;
  double seconds = 1;
  uint64_t inserts = 0;  // each thread ends after so many; 0: time alone ends the run
  RecordSizes sizes;
  bool local = false;  // fill a region of the thread's own, which stays in its L1 cache
  uint64_t sync_every =
      0;  // every so manyth insert follows the last such one of any thread; 0: none
  uint32_t logs_per_commit = 0;  // 0: nothing commits
  bool wait = false;             // for each commit, instead of going on
  uint32_t pipeline_depth = 1;   // unacknowledged transactions of a thread, unless it waits
  bool seal = false;             // whole records with checksums, not mere bytes
  uint64_t run = 0;              // of the log, for the checksums
  bool pin = true;
};

struct Result {
  double seconds = 0;  // of the measured phase; what follows is its own
  uint64_t inserts = 0, bytes = 0, commits = 0;
  HistogramSum commit;  // ticks, from a transaction's first reserve to its acknowledgement
  Usage usage;
  Counters counters;
};

inline constexpr uint32_t kCommitRecordBytes = 32;

// The scheme is running; all it was given is published when this returns.
Result insert_into(LogScheme& scheme, const Options& options);
// The same work without a log: a plain copy, or a fetch-and-add and a copy (kCopy, kFetchAdd).
Result insert_into_floor(Floor floor, uint64_t ring_bytes, const Options& options);

}  // namespace logjam::log_insert
