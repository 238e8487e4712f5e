#include "engine/recovery/recover.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/recovery/applier.h"
#include "engine/recovery/stream_replay.h"
#include "platform/assert.h"
#include "platform/clock.h"
#include "platform/parallel.h"
#include "platform/thread.h"

namespace logjam {
namespace {

// Applies bodies of all streams, on an applier's thread, until nothing is left. Appliers with
// different `which` begin with different streams. An applier never waits for another applier.
//
// While more than `most_waiting_bytes` of ranges wait for their versions, the applier takes bodies
// from the stream that has reached the smallest sequence number. If the numbers of each stream
// grow, the ranges of these bodies need not wait: an applier has already taken the versions that
// these ranges change. If the stream's queue is empty, the applier waits for the stream's reader.
// If the stream's next batch depends on unread parts of other streams, the applier takes from
// another stream. So a reader that waits for an applier finds one.
void apply_in_parallel(StreamReplays& streams, Applier& applier, uint32_t which,
                       uint64_t most_waiting_bytes) {
  using Next = StreamReplay::Next;
  Arena arena;
  BodiesToApply ready;
  std::vector<std::pair<uint64_t, size_t>> order(streams.size());
  for (size_t done = 0; done < streams.size();) {
    done = 0;
    bool idle = true;
    const bool crowded = applier.waiting_bytes() > most_waiting_bytes;
    for (size_t i = 0; i < streams.size(); ++i) {
      const size_t stream = (which + i) % streams.size();
      order[i] = {crowded ? streams[stream]->reached() : i, stream};
    }
    std::ranges::sort(order);
    for (const auto& [reached, s] : order) {
      StreamReplay& stream = *streams[s];
      auto next = stream.next(&ready);
      for (; next == Next::kTaken; next = stream.next(&ready)) {
        applier.apply(ready, arena);
        idle = false;
        if (applier.waiting_bytes() > most_waiting_bytes) break;
      }
      if (next == Next::kDone) ++done;
      if (crowded && (next == Next::kTaken || next == Next::kUnread)) break;
    }
    if (idle && done < streams.size()) platform::sleep_ns(kRecoveryNapNs);
  }
}

// The next record of one stream, for apply_merged.
struct Head {
  StreamReplay* stream;
  const RecordBatch* batch = nullptr;
  size_t record = 0;

  // Waits for a record. Returns false at the end of the stream.
  bool any() {
    if (batch != nullptr && record < batch->records.size()) return true;
    if (batch != nullptr) stream->drop_oldest();
    record = 0;
    while (true) {
      const auto next = stream->oldest(&batch);
      if (next != StreamReplay::Next::kUnread) return next == StreamReplay::Next::kTaken;
      platform::sleep_ns(kRecoveryNapNs);
    }
  }
  uint64_t sequence() const { return batch->records[record]->sequence; }
};

// Applies all records in the order of their sequence numbers (P-WAL, Algorithm 3).
void apply_merged(StreamReplays& streams, RecoveryProgress& progress, Applier& applier) {
  std::vector<Head> heads;
  for (auto& stream : streams) heads.push_back({stream.get()});
  std::erase_if(heads, [](Head& head) { return !head.any(); });
  RecoveryProgress::Known known = progress.known();
  Arena arena;
  BodiesToApply ready;
  while (!heads.empty()) {
    const auto least = std::ranges::min_element(heads, {}, &Head::sequence);
    if (!least->stream->take(*least->batch, least->record, known, &ready)) {
      // The cut in `known` may be outdated. If this cut is the newest, waits until more is read.
      const auto newest = progress.known();
      const bool waits = known.cut == newest.cut;
      known = newest;
      progress.report_merge_waits(waits);
      if (waits) platform::sleep_ns(kRecoveryNapNs);
      continue;
    }
    applier.apply(ready, arena);
    ready.bodies.clear();
    ready.memory.clear();
    ++least->record;
    if (!least->any()) heads.erase(least);
  }
}

}  // namespace

RecoveryResult recover(Database& database, const LogFiles& files, const RecoveryRule& rule,
                       uint32_t threads, ReplayOrder order, double read_bytes_per_second,
                       uint64_t memory_bytes) {
  LJ_ASSERT(threads > 0);
  RecoveryResult result;
  const uint64_t start = platform::now_ns();
  const size_t streams = files.paths.size();
  if (!is_for_streams(rule, streams)) {
    result.error = "the log has " + std::to_string(streams) +
                   " stream(s), and no log of its scheme has that number";
    return result;
  }
  const bool merged = order == ReplayOrder::kMerged;
  const StreamShare share = share_of_stream(memory_bytes, streams, merged ? 1 : threads);
  LogMemoryMeter meter;
  RecoveryProgress progress(rule, streams);
  DevicePaces paces(read_bytes_per_second);
  StreamReplays replays;
  for (uint32_t s = 0; s < streams; ++s) {
    replays.push_back(std::make_unique<StreamReplay>(files, s, rule, progress, share, meter,
                                                     paces.of(files.paths[s])));
    result.error = replays.back()->reader().error();
    if (!result.error.empty()) return result;
    // Reports all starts first: a rule may need them before any record can survive.
    progress.report_read(s, replays.back()->reader().tail(), false);
  }
  Applier applier(database, &meter);
  std::vector<platform::thread> readers;
  for (auto& replay : replays) readers.emplace_back([&replay] { replay->read(); });
  if (merged) {
    apply_merged(replays, progress, applier);
  } else {
    platform::parallel_for_parts(threads, threads, [&](uint32_t which) {
      apply_in_parallel(replays, applier, which, share.most_waiting_bytes);
    });
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
  result.most_memory = meter.most();
  result.error = applier.finish();
  result.seconds = static_cast<double>(platform::now_ns() - start) * 1e-9;
  return result;
}

}  // namespace logjam
