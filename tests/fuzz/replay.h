// A replay of streams that are so short that none waits.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/recovery/stream_replay.h"
#include "tests/fuzz/target.h"

namespace logjam::fuzz {

// Replays the streams as recover() does, on one thread, and calls `take` for what survives. Returns
// false if a stream cannot be read.
inline bool replay_streams(const LogFiles& files, const RecoveryRule& rule, StreamShare share,
                           LogMemoryMeter& meter,
                           const std::function<void(const BodiesToApply&)>& take) {
  if (!is_for_streams(rule, files.paths.size())) return false;
  RecoveryProgress progress(rule, files.paths.size());
  StreamReplays replays;
  for (uint32_t s = 0; s < files.paths.size(); ++s) {
    replays.push_back(std::make_unique<StreamReplay>(files, s, rule, progress, share, meter,
                                                     std::vector<DevicePace*>{}));
    if (!replays.back()->reader().error().empty()) return false;
    progress.report_read(s, replays.back()->reader().tail(), false);
  }
  for (auto& stream : replays) stream->read();
  BodiesToApply ready;
  for (auto& stream : replays) {
    while (stream->next(&ready) == StreamReplay::Next::kTaken) take(ready);
    require(stream->next(&ready) == StreamReplay::Next::kDone, "all of a stream is taken");
  }
  find_damage(progress.take_tails());
  return true;
}

}  // namespace logjam::fuzz
