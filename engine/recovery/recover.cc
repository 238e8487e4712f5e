#include "engine/recovery/recover.h"

#include <algorithm>
#include <memory>

#include "engine/recovery/applier.h"
#include "engine/recovery/recovery_progress.h"
#include "engine/recovery/stream_replay.h"
#include "platform/clock.h"
#include "platform/parallel.h"
#include "platform/thread.h"

namespace logjam {
namespace {

// Takes bodies of all streams and applies them until nothing is left. Called by each applier's
// thread; number `which` begins with another stream than its neighbours. It waits only for the
// streams' readers, never for another applier, so appliers may also run one after the other; later
// ones then find nothing.
void apply_in_parallel(StreamReplays& streams, Applier& applier, uint32_t which) {
  Arena arena;
  BodiesToApply ready;
  for (size_t done = 0; done < streams.size();) {
    done = 0;
    bool idle = true;
    for (size_t i = 0; i < streams.size(); ++i) {
      StreamReplay& stream = *streams[(which + i) % streams.size()];
      auto next = stream.next(&ready);
      for (; next == StreamReplay::Next::kTaken; next = stream.next(&ready)) {
        applier.apply(ready, arena);
        idle = false;
      }
      if (next == StreamReplay::Next::kDone) ++done;
    }
    if (idle && done < streams.size()) platform::sleep_ns(kRecoveryNapNs);
  }
}

// The next body of one stream, for apply_merged.
struct Head {
  StreamReplay* stream;
  BodiesToApply ready = {};
  size_t next = 0;

  // Waits for a body. Returns false if the stream has no more.
  bool any() {
    while (next == ready.bodies.size()) {
      const auto got = stream->next(&ready);
      if (got == StreamReplay::Next::kDone) return false;
      if (got == StreamReplay::Next::kTaken) {
        next = 0;
      } else {
        platform::sleep_ns(kRecoveryNapNs);
      }
    }
    return true;
  }
  uint64_t sequence() const { return ready.bodies[next].sequence; }
};

// Applies the smallest of the streams' heads until none is left (P-WAL, Algorithm 3).
void apply_merged(StreamReplays& streams, Applier& applier) {
  std::vector<Head> heads;
  for (auto& stream : streams) heads.push_back({stream.get()});
  std::erase_if(heads, [](Head& head) { return !head.any(); });
  Arena arena;
  while (!heads.empty()) {
    const auto least = std::ranges::min_element(heads, {}, &Head::sequence);
    applier.apply(least->ready.bodies[least->next++], arena);
    if (!least->any()) heads.erase(least);
  }
}

}  // namespace

RecoveryResult recover(Database& database, const LogFiles& files, const RecoveryRule& rule,
                       uint32_t threads, ReplayOrder order, double read_bytes_per_second) {
  RecoveryResult result;
  const uint64_t start = platform::now_ns();
  const size_t streams = files.paths.size();
  const bool merged = order == ReplayOrder::kMerged;
  // Merging may need one stream's next batch while all other streams hold theirs, so no bound
  // holds.
  const uint64_t most_held_bytes = merged ? ~uint64_t{0} : uint64_t{128} << 20;
  RecoveryProgress progress(rule, streams);
  DevicePaces paces(read_bytes_per_second);
  StreamReplays replays;
  for (uint32_t s = 0; s < streams; ++s) {
    replays.push_back(std::make_unique<StreamReplay>(files, s, rule, progress, most_held_bytes,
                                                     paces.of(files.paths[s])));
    result.error = replays.back()->reader().error();
    if (!result.error.empty()) return result;
  }
  Applier applier(database);
  // Readers block on their files and wait for appliers, so each has a thread of its own.
  std::vector<platform::thread> readers;
  for (auto& replay : replays) readers.emplace_back([&replay] { replay->read(); });
  if (merged) {
    apply_merged(replays, applier);
  } else {
    platform::parallel_for_parts(
        threads, threads, [&](uint32_t which) { apply_in_parallel(replays, applier, which); });
  }
  for (auto& reader : readers) reader.join();

  result.cut = *progress.known().cut;
  result.tails = progress.take_tails();
  result.damage = find_damage(result.tails);
  for (size_t s = 0; s < streams; ++s) {
    const TransactionAssembler& assembler = replays[s]->assembler();
    result.records += assembler.counts().records;
    result.bytes += assembler.counts().bytes;
    result.transactions += assembler.counts().transactions;
    result.beyond_cut += assembler.counts().beyond_cut;
    result.incomplete += assembler.open_transactions();
  }
  result.error = applier.error();
  result.seconds = static_cast<double>(platform::now_ns() - start) * 1e-9;
  return result;
}

}  // namespace logjam
