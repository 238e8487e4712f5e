#include "engine/recovery/recover_chain.h"

#include <fcntl.h>
#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "engine/recovery/commands/replay_commands.h"
#include "engine/run/run.h"
#include "logging/format/segments.h"
#include "logging/scheme_registry.h"
#include "platform/assert.h"
#include "platform/clock.h"
#include "platform/fatal.h"
#include "platform/files.h"
#include "platform/parallel.h"
#include "platform/text.h"

namespace logjam {
namespace {

// Returns in one sentence which streams end earlier than when the log was continued, or an empty
// string. Earlier losses do not count, because the run that continued the log accepted them.
std::string lost_since(const LogFiles& files, const StreamTails& tails) {
  std::string lost;
  for (size_t s = 0; s < tails.size(); ++s) {
    if (tails[s].bytes >= files.ends[s]) continue;
    platform::append_part(&lost, "; ", "stream " + std::to_string(s));
    lost += " of run " + std::to_string(files.header.ordinal) + " ends after " +
            std::to_string(tails[s].bytes) + " bytes, and had " + std::to_string(files.ends[s]) +
            " when the log was continued";
    if (!tails[s].lost.empty()) lost += ": " + tails[s].lost;
  }
  return lost;
}

// Adds a note for each stream with records after the end on which the next run is built.
void note_unused(const LogFiles& files, const StreamTails& tails, RecoveredChain* recovered) {
  for (size_t s = 0; s < tails.size(); ++s) {
    if (!tails[s].goes_on) continue;
    recovered->notes.push_back("stream " + std::to_string(s) + " of run " +
                               std::to_string(files.header.ordinal) +
                               " has valid records after the end that the log was continued from; "
                               "they are not used");
  }
}

// Loads the checkpoint, or the initial rows. Returns why the checkpoint cannot be used, or "".
std::string fill(const RecoveryStart& start, const std::vector<std::string>& directories,
                 const ChainOptions& options, RecoveredChain* into) {
  const uint64_t begun = platform::now_ns();
  into->workload = options.make_workload();
  into->database = std::make_unique<Database>();
  into->checkpoint = start.checkpoint;
  std::string wrong;
  if (start.checkpoint) {
    into->workload->create_tables(*into->database);
    into->loaded = load_checkpoint(*into->database, directories, *start.checkpoint,
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
  // The clients that execute commands count their changes, and verify() expects no other change
  // since the load. So after a checkpoint or a run of values, clients count from the present rows.
  if (scheme->traits.commands) {
    if (into->checkpoint || !into->runs.empty()) into->workload->resume(*into->database);
    return replay_commands(*into->workload, *into->database, files, scheme->recovery,
                           *options.protocol, options.threads, options.read_bytes_per_second);
  }
  RecoveryResult result =
      recover(*into->database, files, scheme->recovery, options.threads, options.order,
              options.read_bytes_per_second, options.memory_bytes);
  const bool counted = std::ranges::any_of(into->runs, [](const auto& run) {
    return find_scheme(run.files.header.scheme)->traits.commands;
  });
  if (counted) into->workload->resume(*into->database);
  return result;
}

// Replays one run. Returns whether all records of the run could be used.
bool replay_run(const LogFiles& files, const ChainOptions& options, RecoveredChain* recovered) {
  VLOG(1) << "replaying run " << files.header.ordinal << " of scheme " << files.header.scheme;
  bool missing = false;
  std::string wrong = check_files(files, &missing);
  if (!wrong.empty()) wrong = "run " + std::to_string(files.header.ordinal) + ": " + wrong;
  if (missing) {
    recovered->damage = wrong;
    return false;
  }
  RecoveryResult result = replay(files, options, recovered);
  recovered->error = result.error;
  if (!wrong.empty()) {
    // A bad header harms no record, but the stream's end may be lost with it. If the log was
    // continued, the manifest has the streams' ends, so the bad header is no damage.
    if (files.ends.empty()) {
      recovered->damage = wrong;
    } else {
      recovered->notes.push_back(wrong);
    }
  }
  const std::string lost = files.ends.empty() ? result.damage : lost_since(files, result.tails);
  if (!lost.empty()) platform::append_part(&recovered->damage, "; ", lost);
  note_unused(files, result.tails, recovered);
  recovered->runs.push_back({files, std::move(result)});
  return recovered->error.empty() && recovered->damage.empty();
}

// Syncs all files of the run, because the recovery may have read bytes that a killed process wrote
// and did not sync. Returns 0 or errno.
int sync_run(const LogFiles& run) {
  platform::Files& disk = platform::files();
  const auto sync_file = [&disk](const std::string& path) {
    const int file = disk.open(path, O_RDONLY);
    if (file < 0) return -file;
    const int error = disk.sync_data(file);
    disk.close(file);
    return error;
  };
  for (const auto& stream : run.paths) {
    for (const std::string& path : stream) {
      int error = sync_file(path);
      std::vector<SegmentFile> segments;
      if (error == 0) error = segment_files_of(path, &segments);
      for (const SegmentFile& segment : segments) {
        if (error == 0) error = sync_file(segment_path(path, segment.index));
      }
      if (error == 0) error = platform::sync_parent(path);
      if (error != 0) return error;
    }
  }
  return 0;
}

void replay_runs(const RecoveryStart& start, const ChainOptions& options,
                 RecoveredChain* recovered) {
  bool whole = true;
  for (const LogFiles& files : start.runs) {
    if (!whole) {
      recovered->dropped.push_back(files.header.ordinal);
      continue;
    }
    const std::string before = std::exchange(recovered->damage, "");
    whole = replay_run(files, options, recovered);
    if (!recovered->error.empty()) return;
    if (!before.empty()) {
      recovered->damage = before + (recovered->damage.empty() ? "" : "; " + recovered->damage);
    }
    const bool used = !recovered->runs.empty() &&
                      recovered->runs.back().files.header.ordinal == files.header.ordinal;
    if (!used) recovered->dropped.push_back(files.header.ordinal);
    if (!whole || &files != &start.runs.back() || options.goes_on) {
      reset_versions(*recovered->database, options.threads);
    }
  }
  if (start.runs.empty() && options.goes_on) reset_versions(*recovered->database, options.threads);
}

// Returns why the checkpoint cannot be used, or "". Transactions ran while its rows were copied, so
// the rows are consistent only with the log that was durable when the checkpoint was complete.
std::string log_lost_for(const RecoveryStart& start, const RecoveredChain& recovered) {
  if (!start.checkpoint || start.checkpoint->at_end) return "";
  const std::vector<StreamStart>& rsn = start.checkpoint->rsn;
  bool lost = recovered.runs.empty();  // the run's files are missing
  for (size_t s = 0; !lost && s < rsn.size(); ++s) {
    lost = recovered.runs.front().result.tails[s].bytes < rsn[s].durable;
  }
  if (!lost) return "";
  return start.checkpoint->name() + " cannot be used without the log that was written while it " +
         "was taken, and that log is damaged: " + recovered.damage;
}

}  // namespace

RecoveredChain recover_chain(const LogChain& chain, const ChainOptions& options) {
  LJ_ASSERT(chain.error.empty() && !chain.starts.empty() && options.make_workload);
  RecoveredChain recovered;
  recovered.notes = chain.notes;
  std::string lost;  // damage found while an unusable checkpoint was tried
  for (const RecoveryStart& start : chain.starts) {
    recovered.error = fill(start, chain.directories, options, &recovered);
    bool unusable = recovered.loaded.corrupt;
    if (recovered.error.empty()) {
      const size_t notes = recovered.notes.size();
      recovered.damage = chain.damage;
      recovered.runs.clear();
      recovered.dropped.clear();
      replay_runs(start, options, &recovered);
      if (recovered.damage.empty()) recovered.damage = lost;
      if (!recovered.error.empty()) return recovered;
      recovered.error = log_lost_for(start, recovered);
      if (recovered.error.empty()) return recovered;
      lost = recovered.damage;
      recovered.notes.resize(notes);
      unusable = true;
    }
    recovered.notes.push_back(recovered.error);
    if (unusable) recovered.unusable.push_back(start.checkpoint->number);
  }
  return recovered;
}

void reset_versions(Database& database, uint32_t threads) {
  // The keys of one part of a table that leave the index, and the memory of their tuples.
  struct Leaving {
    std::vector<Key> keys;
    std::vector<Retired> retired;
  };
  constexpr uint32_t kPartsPerThread = 4;
  const uint32_t parts = threads * kPartsPerThread;
  for (const auto& table : database.tables()) {
    std::vector<Leaving> leaving(parts);
    platform::parallel_for_parts(parts, threads, [&](uint32_t part) {
      table->primary().for_each(part, parts, [&](Keyed* entry) {
        Tuple& tuple = *Table::tuple_of(entry);
        const bool absent = tuple.load_version().absent();
        tuple.version.store(Version(0, absent).word(), platform::memory_order_relaxed);
        if (absent && table->reclaims()) leaving[part].keys.push_back(tuple.key);
      });
    });
    // Each part removes its own keys, and no thread inserts. So each removal succeeds in the end.
    platform::parallel_for_parts(parts, threads, [&](uint32_t part) {
      for (const Key key : leaving[part].keys) {
        while (!table->remove_absent(key, 0, false, &leaving[part].retired)) {
        }
      }
    });
    const Arena arena;
    for (const Leaving& part : leaving) {
      for (const Retired& retired : part.retired) table->recycle(retired, arena);
    }
    table->forget_removals();
  }
}

void settle(const RecoveredChain& recovered, Manifest* manifest) {
  for (const uint64_t number : recovered.unusable) manifest->remove_checkpoint(number);
  for (const uint32_t ordinal : recovered.dropped) manifest->remove_run(ordinal);
  if (!recovered.runs.empty()) {
    const auto& [files, result] = recovered.runs.back();
    if (const int error = sync_run(files); error != 0) {
      platform::fail(std::string("cannot sync the log that is to be continued: ") +
                     platform::error_text(error));
    }
    LJ_ASSERT(manifest->run(files.header.ordinal) != nullptr);
    ManifestRun& run = *manifest->run(files.header.ordinal);
    run.ends.clear();
    for (const StreamTail& tail : result.tails) run.ends.push_back(tail.bytes);
    if (!recovered.damage.empty()) run.accepted = recovered.damage;
  }
  manifest->remove_unfinished();
  // Removes runs without records, because no recovery needs them.
  const std::vector<ManifestRun> runs = manifest->runs;
  for (const ManifestRun& run : runs) {
    const bool empty =
        !run.ends.empty() && std::ranges::all_of(run.ends, [](uint64_t end) { return end == 0; });
    const bool needed =
        std::ranges::count(manifest->checkpoints, run.ordinal(), &Checkpoint::ordinal) != 0;
    const bool alone = manifest->runs.size() == 1 && manifest->checkpoints.empty();
    if (!empty || needed || alone) continue;
    manifest->remove_run(run.ordinal());
    std::erase_if(manifest->lives,
                  [&run](const ManifestLife& life) { return life.ordinal == run.ordinal(); });
  }
}

}  // namespace logjam
