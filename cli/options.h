// The settings that flags give. Only the main thread may call these functions.
#pragma once

#include <gflags/gflags.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags.h"
#include "cli/output.h"
#include "engine/checkpoint/checkpointer.h"
#include "engine/protocol.h"
#include "engine/run/run.h"
#include "engine/workload.h"
#include "logging/log.h"
#include "logging/scheme_registry.h"
#include "platform/disk_facts.h"
#include "platform/placement.h"
#include "platform/worker_class.h"

namespace logjam {

// Returns the entry with this name in a registry. Refuses unknown names.
const WorkloadInfo& workload_named(const std::string& name);
const ProtocolInfo& protocol_named(const std::string& name);
const SchemeInfo& scheme_named(const std::string& name);

// Returns the policy of --commit. Refuses unknown names.
CommitPolicy commit_policy();
// Returns the rule of --snapshot. Refuses unknown names.
SnapshotRule snapshot_rule();

// Returns the directories of --wal_dir; none if the flag is empty.
std::vector<std::string> given_directories();
// Returns the directories of --wal_dir, for a command that reads a log. Refuses an empty list.
std::vector<std::string> wal_directories();

// Refuses with the sentence `why`, unless `why` is empty.
void refuse_if(const std::string& why);

// Returns the options of a log of `scheme`, and chooses the placement of the threads. Refuses
// values and combinations that cannot be used.
LogOptions log_options(const SchemeInfo& scheme);
// Returns the scheduling class that workers of this log ask for. Refuses unknown names.
platform::WorkerClass::Request worker_class(const LogOptions& log);

// Returns the sync method of --sync or of the environment, or nothing for `auto`. Refuses others.
std::optional<SyncMethod> given_sync();
// Returns whether a direct write into durable blocks of a file is durable when it ends. Then the
// disk says that it has no volatile cache, and the file system writes in place.
bool keeps_without_sync(const platform::DiskFacts& facts);
// Returns why a log of these options may lose acknowledged transactions because of --sync, or "".
std::string unsafe_sync(const LogOptions& log);
// Returns the directories of the disks that the log writes to; none if its device needs no disk.
std::vector<std::string> disk_directories(const LogOptions& log);
// Returns whether each write of a log of these options is synced, or persisted in memory.
bool each_write_syncs(const LogOptions& log);
// Returns the row's column `sync` about a running log of these options.
std::string sync_column(const LogOptions& log, const Log& running);

// The buffers of a log, one for each stream.
struct LogBuffers {
  uint64_t count = 0;
  uint64_t bytes_each = 0;
  uint64_t bytes() const { return count * bytes_each; }
};
LogBuffers log_buffers(const LogOptions& log);
// Refuses tables and log buffers that do not fit in memory together.
void refuse_too_large(uint64_t table_bytes, const LogBuffers& buffers);

// The settings of `logjam run`.
struct Settings {
  const WorkloadInfo* workload = nullptr;
  const ProtocolInfo* protocol = nullptr;
  const SchemeInfo* scheme = nullptr;
  RunOptions run;
  LogOptions log;
  platform::WorkerClass::Request worker_class;
  std::string commit, snapshot, log_records;  // as the flags name them
  bool continues = false;                     // --continue
  bool flushes_for_reasons = false;           // --flush was given
  bool verify = true;
  std::string history;       // the file of --history; empty: none
  std::string record;        // the file of --record; empty: none
  std::string timeline;      // the file of --timeline; empty: none
  uint64_t timeline_ms = 0;  // the duration of an interval of the timeline
  std::string checkpoint;    // --checkpoint; empty: none
  OutputFiles files;
  std::string unsafe;        // R8: why acknowledged transactions may be lost; empty if none may be
  std::string sync, io;      // columns of the row; set only when the log is open
  uint32_t log_threads = 0;  // that the log has started; set only when the run has ended
  std::string without_effect;         // given flags that change nothing
  std::vector<std::string> cautions;  // set only when the run has ended
};

// Returns the settings of `logjam run`. Refuses values and combinations that cannot be used.
Settings run_settings();

// Returns whether workers are pinned: false for --placement=none.
bool workers_are_pinned();
// Chooses the cores of the --threads workers, for a log in `directories`. `workers_wait` says that
// each commit waits for the write of its record. Refuses unknown policies, and a first core that
// this process may not use.
void place_threads(const std::vector<std::string>& directories, bool workers_wait);

std::string placement_text(bool pinned);

// Returns the options of the checkpoints of a run whose log is in `directories`. `given` is the
// value of --checkpoint. Refuses values that cannot be used. The caller sets `about`, `sockets` and
// `release_log` of the result.
CheckpointOptions checkpoint_options(const std::string& given,
                                     const std::vector<std::string>& directories);
// Returns the options of the checkpoint at the end of a recovery, as checkpoint_options() does.
CheckpointOptions checkpoint_at_end_options(const std::string& given,
                                            const std::vector<std::string>& directories);

// Refuses a run whose log, device or machine does not allow checkpoints.
void refuse_checkpoints_of(const Settings& settings);

// Returns the schemes that read a flag of logging/, or the workloads that read a flag of workloads/
// or proof/; none if all schemes or workloads read the flag.
std::vector<std::string_view> owners_of(const gflags::CommandLineFlagInfo& flag);

// Returns the given flags that have no effect in a run with these settings, each with the setting
// that uses it, as "--tpcc_mix (of workload tpcc), --pipeline_depth (of --commit=pipelined)".
std::string without_effect(const Settings& settings);

}  // namespace logjam
