#include "engine/recovery/log_chain.h"

#include <algorithm>
#include <utility>

#include "logging/format/run_directories.h"

namespace logjam {
namespace {

// Finds the runs that are needed in addition to `checkpoint`. Returns why they cannot be used, or
// an empty string.
std::string add_runs(const std::vector<std::string>& directories, const Checkpoint& checkpoint,
                     RecoveryStart* start) {
  const uint32_t from = checkpoint.ordinal + (checkpoint.at_end ? 1 : 0);
  Runs found = find_runs(directories, from, checkpoint.first_run);
  if (checkpoint.at_end && found.runs.empty() && !later_run_began(directories, from)) return "";
  if (!found.error.empty()) return found.error;
  LogFiles& first = found.runs.front();
  const uint64_t continues = checkpoint.at_end ? first.header.after : first.header.run;
  if (continues != checkpoint.run) return "it is of a run that is not there";
  if (!checkpoint.at_end) {
    if (first.paths.size() != checkpoint.rsn.size()) return "its run has other streams";
    first.starts = checkpoint.rsn;
  }
  start->runs = std::move(found.runs);
  return "";
}

}  // namespace

LogChain find_log_chain(const std::vector<std::string>& directories) {
  LogChain chain;
  chain.first_run = first_run_in(directories);
  std::vector<uint64_t> numbers = checkpoint_numbers_in(directories);
  std::ranges::reverse(numbers);
  std::string last_error;
  for (const uint64_t number : numbers) {
    Checkpoint checkpoint;
    std::string wrong = find_checkpoint(directories, number, &checkpoint);
    // A log was replaced, and the process was killed before it removed the earlier log's
    // checkpoint.
    if (wrong.empty() && chain.first_run != 0 && checkpoint.first_run != chain.first_run) continue;
    RecoveryStart start;
    if (wrong.empty()) {
      wrong = add_runs(directories, checkpoint, &start);
      if (!wrong.empty()) wrong = checkpoint.name() + " cannot be used: " + wrong;
    }
    if (!wrong.empty()) {
      chain.notes.push_back(wrong);
      last_error = wrong;
      continue;
    }
    chain.first_run = checkpoint.first_run;
    start.checkpoint = std::move(checkpoint);
    chain.starts.push_back(std::move(start));
  }
  Runs all = find_runs(directories, 1, chain.first_run);
  if (all.error.empty()) {
    chain.first_run = all.runs.front().header.first_run;
    chain.starts.push_back({std::nullopt, std::move(all.runs)});
  }
  if (chain.starts.empty()) {
    chain.error = last_error.empty() ? all.error : last_error;
    return chain;
  }
  const RecoveryStart& best = chain.starts.front();
  if (best.runs.empty()) {
    chain.ordinal = best.checkpoint->ordinal;
    chain.last_run = best.checkpoint->run;
    chain.flags = best.checkpoint->flags;
  } else {
    chain.ordinal = best.runs.back().header.ordinal;
    chain.last_run = best.runs.back().header.run;
    chain.flags = best.runs.back().header.flags;
  }
  return chain;
}

}  // namespace logjam
