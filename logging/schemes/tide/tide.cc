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
// Protocol. The rules have theirs. wanted() has a slot for each stream, raised when a record is
// passed, before it is durable.
#include "logging/schemes/common/buffer_chunks.h"
#include "logging/schemes/common/watermark_scheme.h"
#include "logging/schemes/tide/announced_numbers.h"
#include "logging/schemes/tide/ended_epochs.h"
#include "logging/schemes/tide/ring_order.h"
#include "logging/schemes/tide/scanned_numbers.h"

namespace logjam {
namespace {

template <WatermarkRule Rule>
class Tide final : public WatermarkScheme {
 public:
  explicit Tide(const LogConfig& config)
      : WatermarkScheme(config),
        patience_ticks_(platform::ns_to_ticks(config.parts->patience_us * 1e3)),
        buffers_(config.workers),
        rule_(config.workers, workers_of_streams()) {
    const auto rule = ChunkLength::rule_of(*config.parts);
    for (uint32_t s = 0; s < streams(); ++s) {
      logs_.push_back(std::make_unique<StreamLog>(stream(s), run(), rule));
    }
  }

  LogReservation reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    const uint32_t index = home(worker);
    ChunkOwner& buffer = buffers_[worker];
    const uint64_t above = std::max(deps.max_number(), buffer.sequence);
    const auto [number, place] = rule_.reserve(
        index, worker, above, [&] { return logs_[index]->chunks.reserve(buffer, worker, bytes); });
    return reservation(index, place.begin, bytes, number, place.waited_ticks);
  }

  CommitPoint fill_done(uint32_t worker, const LogReservation& reservation, RecordRole) override {
    const auto [number, index] = std::pair(reservation.sequence, reservation.stream);
    logs_[index]->chunks.publish(buffers_[worker], reservation.bytes, number);
    rule_.publish(worker, number);
    return CommitPoint::in_every_stream(number);
  }

  Counters counters() const override {
    return MultiStreamScheme::counters().add(padding_of(buffers_, logs_));
  }

 private:
  struct StreamLog {
    StreamLog(Stream& stream, uint64_t run, ChunkLength::Rule rule)
        : chunks(stream, run, stream.home().writers, rule) {}

    BufferChunks chunks;
  };

  WorkersOfStreams workers_of_streams() const {
    WorkersOfStreams workers;
    for (uint32_t s = 0; s < streams(); ++s) workers.push_back(this->workers_of(s));
    return workers;
  }

  // Counts the last chunk even if it is open, because a thread closes this chunk before it writes.
  uint64_t filled(uint32_t index) override {
    StreamLog& log = *logs_[index];
    if (log.chunks.pass_due()) pass(index, false);
    const uint64_t filled = log.chunks.filled();
    if (log.chunks.pending()) return filled;
    const uint64_t dealt = log.chunks.dealt();
    if (dealt != filled || filled != stream(index).durable()) return dealt;
    return lags(index) ? filled_to_write(index, filled) : filled;
  }

  uint64_t filled_to_write(uint32_t index, uint64_t) override {
    pass(index, true);
    return logs_[index]->chunks.filled();
  }

  // Passes the chunks that were handed over and, if `closes`, the chunks that workers still have.
  void pass(uint32_t index, bool closes) {
    StreamLog& log = *logs_[index];
    uint64_t last = 0;  // the largest number of a record that was passed
    uint64_t patience = closes ? patience_ticks_ : 0;
    log.chunks.passing().lock();
    if (closes && !log.chunks.pending() && (log.chunks.dealt_after_boundary() || lags(index))) {
      patience = advance_watermark(index, log, patience);
    }
    log.chunks.pass(
        patience, [&](uint32_t worker) -> ChunkOwner& { return buffers_[worker]; },
        [&](const BufferChunk& chunk) {
          if (chunk.watermark) return record_durable_sequence(index, chunk.end, chunk.sequence);
          last = std::max(last, chunk.sequence);
        });
    const bool others_lag = raise_wanted(index, last);
    log.chunks.passing().unlock();
    if (others_lag) notify_lagging(last, Flush::kNow);
  }

  // Appends a watermark. Waits at most `patience` ticks for open records that hold it back. Returns
  // the rest of the patience.
  uint64_t advance_watermark(uint32_t index, StreamLog& log, uint64_t patience)
      LJ_REQUIRES(log.chunks.passing()) {
    const uint64_t goal = rule_.begin_watermark(index, watermark(index));
    uint64_t number = rule_.complete(index, goal);
    platform::SpinWait wait;
    while (number < goal && patience != 0 && !wait.would_sleep_early()) {
      const uint64_t begin = platform::ticks();
      wait.once();
      number = rule_.complete(index, goal);
      patience -= std::min(patience, platform::ticks() - begin);
    }
    if (number > watermark(index) && log.chunks.append_watermark(number)) {
      raise_watermark(index, number);
    } else {
      log.chunks.close();
    }
    return patience;
  }

  const uint64_t patience_ticks_;
  WorkerStates<ChunkOwner> buffers_;
  std::vector<std::unique_ptr<StreamLog>> logs_;
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
