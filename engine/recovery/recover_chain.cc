#include "engine/recovery/recover_chain.h"

#include <glog/logging.h>

#include <utility>

#include "engine/recovery/commands/replay_commands.h"
#include "engine/recovery/reset_versions.h"
#include "engine/run/run.h"
#include "logging/scheme_registry.h"
#include "platform/clock.h"

namespace logjam {
namespace {

// Returns one sentence if run `ordinal` has lost bytes since the next run began, or an empty
// string. Bytes that were lost before, the next run has accepted.
std::string lost_since(uint32_t ordinal, const StreamTails& tails, const LogFileHeader& next) {
  const uint64_t bytes = total_bytes(tails);
  if (bytes >= next.after_bytes) return "";
  return "the streams of run " + std::to_string(ordinal) + " end after " + std::to_string(bytes) +
         " bytes, and had " + std::to_string(next.after_bytes) + " when run " +
         std::to_string(next.ordinal) + " began";
}

// Fills the database from the checkpoint, or with the initial load. Returns why the checkpoint
// cannot be used, or an empty string.
std::string fill(const RecoveryStart& start, const ChainOptions& options, RecoveredChain* into) {
  const uint64_t begun = platform::now_ns();
  into->workload = options.make_workload();
  into->database = std::make_unique<Database>();
  into->checkpoint = start.checkpoint;
  std::string wrong;
  if (start.checkpoint) {
    into->workload->create_tables(*into->database);
    into->loaded = load_checkpoint(*into->database, options.directories, *start.checkpoint,
                                   options.read_bytes_per_second);
    wrong = into->loaded.error;
  } else {
    load(*into->workload, *into->database, options.threads, options.progress);
  }
  into->load_seconds = static_cast<double>(platform::now_ns() - begun) * 1e-9;
  return wrong;
}

RecoveryResult replay(const LogFiles& files, const ChainOptions& options, RecoveredChain* into) {
  const SchemeInfo* scheme = find_scheme(files.header.scheme);
  if (scheme == nullptr) {
    RecoveryResult unknown;
    unknown.error = "the log was written by the scheme " + files.header.scheme +
                    ", which this logjam does not have";
    return unknown;
  }
  options.before_run(files.header);
  if (scheme->traits.commands) {
    return replay_commands(*into->workload, *into->database, files, scheme->recovery,
                           *options.protocol, options.threads, options.read_bytes_per_second);
  }
  return recover(*into->database, files, scheme->recovery, options.threads, options.order,
                 options.read_bytes_per_second, options.memory_bytes);
}

}  // namespace

RecoveredChain recover_chain(const LogChain& chain, const ChainOptions& options) {
  RecoveredChain recovered;
  recovered.notes = chain.notes;
  const RecoveryStart* from = nullptr;
  for (const RecoveryStart& start : chain.starts) {
    recovered.error = fill(start, options, &recovered);
    from = &start;
    if (recovered.error.empty()) break;
    recovered.notes.push_back(recovered.error);
    recovered.corrupt.push_back(start.checkpoint->number);
  }
  if (!recovered.error.empty()) return recovered;
  for (size_t i = 0; i < from->runs.size(); ++i) {
    const LogFiles& files = from->runs[i];
    VLOG(1) << "replaying run " << files.header.ordinal << " of scheme " << files.header.scheme;
    RecoveryResult result = replay(files, options, &recovered);
    recovered.error = result.error;
    const bool last = i + 1 == from->runs.size();
    recovered.damage =
        last ? result.damage
             : lost_since(files.header.ordinal, result.tails, from->runs[i + 1].header);
    recovered.runs.push_back({files, std::move(result)});
    if (!recovered.error.empty() || (!last && !recovered.damage.empty())) return recovered;
    if (!last || options.goes_on) reset_versions(*recovered.database, options.threads);
  }
  if (from->runs.empty() && options.goes_on) reset_versions(*recovered.database, options.threads);
  return recovered;
}

}  // namespace logjam
