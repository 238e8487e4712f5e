// `tide`: workers fill private parts of a few shared logs, number their records without a shared
// counter, and the thread that writes a log ends each write with a watermark. The scheme is our
// own. Its parts are Silo's buffers (Tu et al. 2013; buffer_chunks.h), Lamport's numbers (1978),
// and watermark records (`silo`, `nvmd`). docs/TIDE.md has the design.
//
// `tide-announced`, `tide-scanned` and `tide-epochs` are ablations: in place of RingOrder they have
// another rule that says which numbers a watermark includes (watermark_rule.h), and all else is the
// same. So a difference between these four is a difference between their rules.
//
// Streams. Each log directory has a stream, with an equal share of the workers. A worker's private
// buffer is a chunk of the stream's ring. Workers write shared cache lines only to take a chunk.
//
// Sequence number. It is larger than the numbers that the transaction reads and overwrites, than
// the worker's last number, and than what the rule demands. The number is drawn after the
// validation.
//
// Watermark. Each write of a stream ends with a watermark record. Every record of the stream with a
// number up to the watermark's lies before the watermark record: each rule has the proof. The
// writing thread also takes the workers' open buffers.
//
// Parts (--log_parts). The proofs need only the order of chunks and watermarks in the ring, and no
// length and no time. So these schemes may have every part, and have them all: workers have cache
// misses when their buffers are taken, a worker that writes loses the time of the write, and a
// commit waits for the next write of every stream. With LogParts::patience_us a write waits for the
// records that hold its watermark back, and then for those that lie before the watermark.
//
// Safe when the durable watermark of every stream is at least the transaction's number: all records
// that it depends on have smaller numbers (R1). Cut: the smallest of the streams' last watermarks
// (R4: min_cut()). The records of a transaction lie in one stream, and its last record has the
// largest number (R2). The last writer wins by number: numbers grow along overwrites (R3).
//
// Idle streams (R5). The thread that writes a record notifies the streams whose watermark is below
// the record's number. These streams write a watermark record even if they are idle. If an open
// record holds a watermark back, its publish wakes the thread that writes.
//
// Protocol. The rules, chunk_scheme.h and buffer_chunks.h have theirs.
#include "logging/schemes/common/chunk_scheme.h"
#include "logging/schemes/tide/announced_numbers.h"
#include "logging/schemes/tide/ended_epochs.h"
#include "logging/schemes/tide/ring_order.h"
#include "logging/schemes/tide/scanned_numbers.h"

namespace logjam {
namespace {

template <WatermarkRule Rule>
class Tide final : public MarkedWrites {
 public:
  explicit Tide(const LogConfig& config)
      : MarkedWrites(config), rule_(config.workers, workers_of_streams()) {}

  LogReservation reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    const uint32_t index = home(worker);
    const uint64_t above = std::max(deps.max_number(), last_number(worker));
    const auto [number, place] =
        rule_.reserve(index, worker, above, [&] { return take_place(worker, bytes); });
    return reservation(index, place.begin, bytes, number, place.waited_ticks);
  }

  CommitPoint fill_done(uint32_t worker, const LogReservation& reservation, RecordRole) override {
    hand_over(worker, reservation.bytes, reservation.sequence);
    rule_.publish(worker, reservation.sequence);
    return CommitPoint::in_every_stream(reservation.sequence);
  }

 private:
  WorkersOfStreams workers_of_streams() const {
    WorkersOfStreams workers;
    for (uint32_t s = 0; s < streams(); ++s) workers.push_back(this->workers_of(s));
    return workers;
  }

  uint64_t number_awaited(const BufferChunk& chunk) const override { return chunk.sequence; }

  // Waits for open records that hold the watermark back.
  uint64_t advance_watermark(uint32_t index, BufferChunks& chunks, uint64_t patience) override
      LJ_REQUIRES(chunks.passing()) {
    const uint64_t goal = rule_.begin_watermark(index, watermark(index));
    uint64_t number = rule_.complete(index, goal);
    platform::SpinWait wait;
    while (number < goal && patience != 0 && !wait.would_sleep_early()) {
      const uint64_t begin = platform::ticks();
      wait.once();
      number = rule_.complete(index, goal);
      patience -= std::min(patience, platform::ticks() - begin);
    }
    if (number > watermark(index) && chunks.append_watermark(number)) {
      raise_watermark(index, number);
    } else {
      chunks.close();
    }
    return patience;
  }

  Rule rule_;
};

template <WatermarkRule Rule>
SchemeInfo info(std::string_view name, std::string_view sequence, std::string_view differs = "") {
  return device_scheme({
      .name = name,
      .differs = differs,
      .buffer = "private, of adaptive length",
      .sequence = sequence,
      .safe_when = "number <= least durable watermark",
      .cut = "least last watermark",
      .source = "own; Silo's buffers, watermarks",
      .parts = kEveryPart,
      .may_have = kEveryPart,
      .recovery = min_cut(&StreamTail::last_watermark, "watermark"),
      .construct = construct<Tide<Rule>>,
  });
}

const SchemeRegistration ring_order(info<RingOrder>("tide", "over reads, overwrites, floor"));
const SchemeRegistration announced(info<AnnouncedNumbers>(
    "tide-announced", "over reads, overwrites, floor; announced",
    "an ablation of tide: a watermark ends before the least announced number"));
const SchemeRegistration scanned(info<ScannedNumbers>(
    "tide-scanned", "over reads, overwrites, worker's word",
    "an ablation of tide: a watermark ends at the least last number of a busy worker"));
const SchemeRegistration epochs(info<EndedEpochs>(
    "tide-epochs", "epoch, count: over reads, overwrites",
    "an ablation of tide: watermarks include epochs that are over, as in silo; but a write ends an "
    "epoch, and the number is drawn after the validation"));

}  // namespace
}  // namespace logjam
