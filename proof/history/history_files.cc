#include "proof/history/history_files.h"

#include <gflags/gflags.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <tuple>
#include <utility>

#include "platform/fatal.h"
#include "platform/text.h"

DECLARE_uint64(history_mb);

namespace logjam {
namespace {

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// Returns how many lives have files, without a gap from the first life on.
uint32_t files_there(const std::string& path) {
  uint32_t lives = 0;
  while (exists(file_of_life(path, lives + 1))) ++lives;
  return lives;
}

// Returns how many lives, from the first to the first gap, have files of the first life's log.
uint32_t files_of_log(const std::string& path) {
  const uint32_t there = files_there(path);
  const HistoryFile first = open_history_file(path);
  for (uint32_t life = 2; life <= there && first.error.empty(); ++life) {
    const HistoryFile one = open_history_file(file_of_life(path, life));
    if (one.error.empty() && one.parameters.log != first.parameters.log) return life - 1;
  }
  return there;
}

void remove_later_lives(const std::string& path) {
  for (uint32_t life = files_there(path) + 1; life > 1; --life) {
    const std::string file = file_of_life(path, life);
    unlink(unfinished_history(file).c_str());
    unlink(file.c_str());
  }
}

std::string give_name(const std::string& unfinished, const std::string& path) {
  return std::rename(unfinished.c_str(), path.c_str()) == 0
             ? ""
             : unusable_history(path, std::strerror(errno));
}

// Gives the newest life's file its name if a kill prevented this. In this case the history ends
// before run `ordinal`. Runs that logged nothing may lie between the history and this run. If all
// earlier runs of the log logged nothing, the history begins anew with this file.
std::string adopt_last_life(const std::string& path, uint64_t log, uint32_t ordinal) {
  const uint32_t lives = std::max(files_of_log(path), 1u);
  const uint32_t known = open_history_file(file_of_life(path, lives)).parameters.ordinal;
  if (known >= ordinal) return "";
  const auto is_last = [&](uint32_t life) {
    const HistoryFile fresh = open_history_file(unfinished_history(file_of_life(path, life)));
    const uint32_t after = fresh.parameters.after;
    return fresh.error.empty() && fresh.parameters.log == log &&
           fresh.parameters.ordinal >= ordinal && after <= known && (after == 0) == (life == 1);
  };
  if (is_last(1)) {
    remove_later_lives(path);
    return give_name(unfinished_history(path), path);
  }
  // If the last named life has no transaction, the next life replaces the last life's file.
  for (uint32_t life = std::max(lives, 2u); life <= lives + 1; ++life) {
    const std::string file = file_of_life(path, life);
    if (is_last(life)) return give_name(unfinished_history(file), file);
  }
  return "";
}

// Checks that the ids of each worker ascend from life to life. Returns an error or an empty string.
std::string order_of_ids(const HistoryFiles& history) {
  for (size_t i = 1; i < history.entries.size(); ++i) {
    const HistoryEntry& before = history.entries[i - 1];
    const HistoryEntry& entry = history.entries[i];
    if (worker_of(before.id) != worker_of(entry.id)) continue;
    if (before.id != entry.id && before.life <= entry.life) continue;
    return "transaction " + show(entry.id) + name_of_life(history.files.size(), entry.life) +
           " does not come after " + show(before.id) +
           name_of_life(history.files.size(), before.life);
  }
  return "";
}

}  // namespace

std::string file_of_life(const std::string& path, uint32_t life) {
  return life == 1 ? path : path + "." + std::to_string(life);
}

std::string name_of_life(size_t lives, uint32_t index) {
  return lives == 1 ? "" : " of life " + std::to_string(index + 1);
}

std::string difference(const HistoryFileParameters& has, const HistoryFileParameters& wanted) {
  if (has.workload != wanted.workload) return "it is of the workload \"" + has.workload + "\"";
  if (has.keys != wanted.keys) return "it is of other keys";
  if (has.counters != wanted.counters) return "it is of a workload of other types";
  return "";
}

std::string HistoryFiles::unsafe() const {
  std::vector<std::string> reasons;
  for (const HistoryFile& life : files) {
    if (!life.proves_nothing()) continue;
    if (std::ranges::find(reasons, life.parameters.unsafe) != reasons.end()) continue;
    reasons.push_back(life.parameters.unsafe);
  }
  return platform::join(reasons, ", ");
}

std::vector<uint64_t> HistoryFiles::counts() const {
  std::vector<uint64_t> counts;
  for (const HistoryEntry& entry : entries) {
    LJ_ASSERT(counts.size() <= worker_of(entry.id) + size_t{1});  // entries ascend
    counts.resize(worker_of(entry.id) + 1);
    counts.back() = count_of(entry.id);
  }
  return counts;
}

HistoryFiles open_history_files(const std::string& path) {
  HistoryFiles history;
  const auto refuse = [&](const std::string& error) {
    history.error = error;
    history.entries.clear();
    return history;
  };
  const uint32_t lives = std::max(files_of_log(path), 1u);
  for (uint32_t life = 1; life <= lives; ++life) {
    const std::string file = file_of_life(path, life);
    history.files.push_back(open_history_file(file));
    HistoryFile& opened = history.files.back();
    if (!opened.error.empty()) return refuse(opened.error);
    const std::string other = difference(opened.parameters, history.parameters());
    if (!other.empty()) return refuse(unusable_history(file, other));
  }
  while (history.files.size() > 1 && !history.files.back().started) history.files.pop_back();
  for (uint32_t index = 0; index < history.files.size(); ++index) {
    for (HistoryEntry& entry : history.files[index].entries) {
      entry.life = index;
      history.entries.push_back(entry);
    }
    history.files[index].entries = {};
  }
  if (history.files.size() == 1) return history;  // sorted
  std::ranges::sort(history.entries, {},
                    [](const HistoryEntry& entry) { return std::tie(entry.id, entry.life); });
  const std::string wrong = order_of_ids(history);
  return wrong.empty() ? history : refuse(unusable_history(path, wrong));
}

// Reads the last file even if its life has not started: the life may have begun a run of the log.
std::string gap_in_history(const std::string& path, uint32_t ordinal) {
  const HistoryFile last = open_history_file(file_of_life(path, std::max(files_of_log(path), 1u)));
  const uint32_t known = last.parameters.ordinal;
  if (!last.error.empty() || known >= ordinal) return "";
  return unusable_history(path, "its last life is run " + std::to_string(known) +
                                    " of the log, which goes on to run " + std::to_string(ordinal) +
                                    ": a run without --history");
}

StartedHistory start_life(const std::string& path, uint32_t workers,
                          const HistoryFileParameters& parameters) {
  StartedHistory started;
  uint32_t life = 1;
  if (parameters.after != 0) {
    const std::string unfinished = adopt_history(path, parameters.log, parameters.after);
    if (!unfinished.empty()) {
      platform::refuse("--continue goes on with the history of the lives before: " + unfinished);
    }
    const HistoryFiles earlier = open_history_files(path);
    std::string error = earlier.error;
    if (error.empty()) error = gap_in_history(path, parameters.after);
    if (error.empty()) {
      const std::string other = difference(earlier.parameters(), parameters);
      if (!other.empty()) error = unusable_history(path, other);
    }
    if (!error.empty()) {
      platform::refuse("--continue goes on with the history of the lives before: " + error);
    }
    started.counts = earlier.counts();
    life = static_cast<uint32_t>(earlier.files.size()) + 1;
  }
  started.writer = std::make_unique<HistoryWriter>(file_of_life(path, life), workers,
                                                   FLAGS_history_mb << 20, parameters);
  return started;
}

void keep_life(const std::string& path, const HistoryFileParameters& parameters,
               HistoryWriter& writer) {
  if (parameters.after == 0) remove_later_lives(path);
  writer.keep();
}

std::string adopt_history(const std::string& path, uint64_t log, uint32_t ordinal) {
  const HistoryFile history = open_history_file(path);
  if (history.error.empty() && history.parameters.log == log) {
    return adopt_last_life(path, log, ordinal);
  }
  const std::string unfinished = unfinished_history(path);
  const HistoryFile fresh = open_history_file(unfinished);
  if (fresh.error.empty() && fresh.parameters.log == log && fresh.parameters.after == 0) {
    return give_name(unfinished, path);
  }
  return history.error.empty() ? unusable_history(path, "it is of another log") : history.error;
}

}  // namespace logjam
