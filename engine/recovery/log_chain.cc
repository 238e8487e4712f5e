#include "engine/recovery/log_chain.h"

#include <algorithm>
#include <utility>

namespace logjam {
namespace {

// Returns the way to recover from `checkpoint`, or from the initial load, through the later `runs`.
RecoveryStart start_from(std::optional<Checkpoint> checkpoint, const LogChain& chain,
                         const std::vector<ManifestRun>& runs) {
  RecoveryStart start;
  for (const ManifestRun& run : runs) {
    if (checkpoint && run.ordinal() < checkpoint->ordinal) continue;
    if (checkpoint && checkpoint->at_end && run.ordinal() == checkpoint->ordinal) continue;
    start.runs.push_back(files_of_run(chain.directories, run));
    if (checkpoint && run.ordinal() == checkpoint->ordinal) {
      start.runs.back().starts = checkpoint->rsn;
    }
  }
  start.checkpoint = std::move(checkpoint);
  return start;
}

}  // namespace

LogChain find_log_chain(const std::vector<std::string>& directories, bool use_copy) {
  LogChain chain;
  FoundManifest found = find_manifest(directories, use_copy);
  chain.error = found.error;
  chain.lost = found.lost;
  if (!chain.error.empty()) return chain;
  chain.damage = std::move(found.damage);
  chain.directories = std::move(found.directories);
  chain.manifest = std::move(found.manifest);

  // A run that has not begun counts, as empty, if no other run and no complete checkpoint exists.
  std::vector<ManifestRun> runs = chain.manifest.runs;
  const std::vector<Checkpoint>& checkpoints = chain.manifest.checkpoints;
  const bool more = runs.size() > 1 || std::ranges::any_of(checkpoints, &Checkpoint::complete);
  if (more && !runs.empty() && !runs.back().begun) runs.pop_back();
  for (auto newest = checkpoints.rbegin(); newest != checkpoints.rend(); ++newest) {
    const Checkpoint& checkpoint = *newest;
    if (!checkpoint.complete) continue;
    std::string wrong;
    paths_of(chain.directories, checkpoint, &wrong);
    if (!wrong.empty()) {
      chain.notes.push_back(checkpoint.name() + " cannot be used: " + wrong);
      continue;
    }
    chain.starts.push_back(start_from(checkpoint, chain, runs));
  }
  if (chain.manifest.whole) chain.starts.push_back(start_from(std::nullopt, chain, runs));
  if (chain.starts.empty()) {
    chain.lost = true;
    chain.error = "no checkpoint of the log can be used, and the log before it has been released";
    for (const std::string& note : chain.notes) chain.error += "; " + note;
    return chain;
  }
  if (!runs.empty()) {
    chain.ordinal = runs.back().ordinal();
    chain.flags = runs.back().header.flags;
  } else if (chain.starts.front().checkpoint) {
    chain.ordinal = chain.starts.front().checkpoint->ordinal;
    chain.flags = chain.starts.front().checkpoint->flags;
  } else {
    chain.error = "the log has no run";
  }
  return chain;
}

}  // namespace logjam
