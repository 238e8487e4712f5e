// `tide`: workers fill private parts of a few shared logs, number their records without a shared
// counter, and the thread that writes a log ends each write with a watermark. The scheme is our
// own. Its parts are Silo's buffers (Tu et al. 2013; buffer_chunks.h), Lamport's numbers (1978),
// and watermark records (`silo`, `nvmd`). docs/TIDE.md has the design.
//
// Streams. Each log directory has a stream, with an equal share of the workers. A worker's private
// buffer is a chunk of the stream's ring. Workers write shared cache lines only to take a chunk.
//
// Sequence number. It is larger than the numbers that the transaction reads and overwrites, than
// the worker's last number, and than the *floor* of its stream. The number is drawn after the
// validation, when the record has its place.
//
// Watermark. The thread that is about to write stream s raises the floor of s to a number F above
// all floors, and appends a watermark record of F. Every record of s with a number up to F lies
// before the watermark record. Proof: let a record lie after the watermark record. Then the
// record's worker took its buffer after the watermark record had its place. Hence the worker loads
// F or a later floor, and draws a larger number. So the writing thread needs only the workers' open
// buffers, which it takes. Floors rise by kStep. Between two writes, dependencies usually raise
// numbers by less than kStep, so that a transaction is safe after the next write of each stream.
//
// Parts (--log_parts). The proof needs only the order of chunks and watermarks in the ring, and no
// length and no time. So `tide` may have every part, and has them all: workers have cache misses
// when their buffers are taken, a worker that writes loses the time of the write, and a commit
// waits for the next write of every stream.
//
// Safe when the durable watermark of every stream is at least the transaction's number: all records
// that it depends on have smaller numbers (R1). Cut: the smallest of the streams' last watermarks
// (R4: min_cut()). The last writer wins by number: numbers grow along overwrites (R3).
//
// Idle streams (R5). The thread that writes a record notifies the streams whose watermark is below
// the record's number. These streams write a watermark record even if they are idle.
//
// Protocol.
//   floor      stored (relaxed) under passing(), before the watermark record takes its place
//              (release). Workers load it (relaxed) after they have taken a buffer (acquire). Other
//              threads load it to raise their own stream's floor; an old value does no harm.
//   wanted()   has a slot for each stream, raised when a record is passed, before it is durable.
#include "logging/schemes/common/buffer_chunks.h"
#include "logging/schemes/common/watermark_scheme.h"
#include "platform/test_value.h"

namespace logjam {
namespace {

using platform::memory_order_relaxed;

// Makes a chunk for each record, as in a shared buffer (--test=tide_record:1).
const platform::TestValue chunk_is_record("tide_record");
// Begins with floors of N steps (--test=tide_first_step:N).
const platform::TestValue first_step("tide_first_step");

class Tide final : public WatermarkScheme {
 public:
  explicit Tide(const LogConfig& config)
      : WatermarkScheme(config),
        patience_ticks_(platform::ns_to_ticks(config.parts->patience_us * 1e3)),
        buffers_(config.workers) {
    const auto rule = chunk_is_record.get() == 0 ? ChunkLength::rule_of(*config.parts)
                                                 : ChunkLength::Rule::kRecord;
    for (uint32_t s = 0; s < streams(); ++s) {
      logs_.push_back(std::make_unique<StreamLog>(stream(s), run(), rule));
    }
  }

  LogReservation reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    const uint32_t index = home(worker);
    ChunkOwner& buffer = buffers_[worker];
    const auto [begin, waited] = logs_[index]->chunks.reserve(buffer, worker, bytes);
    const uint64_t floor = logs_[index]->floor.load(memory_order_relaxed);
    const uint64_t number = std::max({deps.max_number(), buffer.sequence, floor}) + 1;
    return reservation(index, begin, bytes, number, waited);
  }

  CommitPoint fill_done(uint32_t worker, const LogReservation& reservation, RecordRole) override {
    const auto [number, index] = std::pair(reservation.sequence, reservation.stream);
    logs_[index]->chunks.publish(buffers_[worker], reservation.bytes, number);
    return CommitPoint::in_every_stream(number);
  }

  Counters counters() const override {
    return MultiStreamScheme::counters().add(padding_of(buffers_, logs_));
  }

 private:
  static constexpr uint64_t kStep = 1 << 16;
  // Numbers exceed the largest floor by fewer than the records of the run, which are fewer than
  // 2^58 in a hundred years. So all numbers have kSequenceBits bits.
  static constexpr uint64_t kLastFloor = (uint64_t{1} << kSequenceBits) - (uint64_t{1} << 58);

  struct StreamLog {
    StreamLog(Stream& stream, uint64_t run, ChunkLength::Rule rule)
        : chunks(stream, run, stream.home().writers, rule), floor(first_step.get() * kStep) {}

    BufferChunks chunks;
    alignas(platform::kCacheLine) platform::atomic<uint64_t> floor;
  };

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
    log.chunks.passing().lock();
    if (closes && !log.chunks.pending() && (log.chunks.dealt_after_boundary() || lags(index))) {
      advance_watermark(index, log);
    }
    log.chunks.pass(
        closes ? patience_ticks_ : 0,
        [&](uint32_t worker) -> ChunkOwner& { return buffers_[worker]; },
        [&](const BufferChunk& chunk) {
          if (chunk.watermark) return record_durable_sequence(index, chunk.end, chunk.sequence);
          last = std::max(last, chunk.sequence);
        });
    const bool others_lag = raise_wanted(index, last);
    log.chunks.passing().unlock();
    if (others_lag) notify_lagging(last, Flush::kNow);
  }

  void advance_watermark(uint32_t index, StreamLog& log) LJ_REQUIRES(log.chunks.passing()) {
    uint64_t floor = 0;
    for (const auto& one : logs_) floor = std::max(floor, one->floor.load(memory_order_relaxed));
    floor += kStep;
    if (floor > kLastFloor) {
      platform::fatal("--log=tide has had all its numbers; --continue begins to count again");
    }
    log.floor.store(floor, memory_order_relaxed);
    if (log.chunks.append_watermark(floor)) {
      raise_watermark(index, floor);
    } else {
      log.chunks.close();
    }
  }

  const uint64_t patience_ticks_;
  WorkerStates<ChunkOwner> buffers_;
  std::vector<std::unique_ptr<StreamLog>> logs_;
};

const SchemeRegistration registration(device_scheme({
    .name = "tide",
    .buffer = "private, of adaptive length",
    .sequence = "over reads, overwrites, floor",
    .safe_when = "number <= least durable watermark",
    .cut = "least last watermark",
    .source = "own; Silo's buffers, watermarks",
    .parts = kEveryPart,
    .may_have = kEveryPart,
    .recovery = min_cut(&StreamTail::last_watermark, "watermark"),
    .construct = construct<Tide>,
}));

}  // namespace
}  // namespace logjam
