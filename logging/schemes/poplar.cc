// `poplar`: a log buffer, a segment index and a logger for each device, and a number that grows
// only along the dependencies that must be ordered (Zhou et al., section 4). Workers are dealt to
// buffers in turn.
//
// Sequence number (Algorithm 1). SSN = max(what is read, what is overwritten, the buffer's) + 1,
// drawn with the offset under the buffer's latch. So the SSN grows along read-from and overwrites
// in all buffers, and with the offset in each buffer. It does not grow along write-after-read, and
// two buffers may use the same number. Under OCC the SSN is drawn after validation: the rows that
// the transaction reads and overwrites got their versions, hence their numbers, before; no other
// order is needed.
//
// Safe when. The DSN of a buffer is the SSN up to which the buffer is durable (durable_sequence).
// The CSN is the least DSN (global_durable_sequence; Algorithm 2).
//   Qwr   a transaction that read is safe when its SSN <= CSN. All that it depends on has smaller
//         SSNs, in whatever buffer, and is durable.
//   Qww   a transaction that only wrote is safe when its SSN <= the DSN of its buffer. It has read
//         from no other transaction.
// A transaction that wrote nothing waits for the CSN to reach the largest SSN that it read.
//
// Cut. RSNe is the least of the streams' last SSNs. Up to RSNe no record is missing in any stream,
// so the set is closed (R4). Beyond RSNe only write-only transactions (kWriteOnly) are kept: they
// depend on no record that could be missing. A transaction beyond RSNe that read from them is
// dropped. The last writer wins by SSN, because SSNs grow along overwrites (R3).
//
// Idle buffers (R5). If a buffer is behind the largest SSN of a transaction that read, its flusher
// raises the buffer with a watermark record of that SSN: at once if the buffer is quiet, or else at
// the end of the segment that the flusher is about to close. Watermark records get their numbers
// under the latch, as other records do, so later records have larger numbers.
//
// A descheduled worker. Between reserve and publish it blocks its buffer's DSN, and with the DSN
// the CSN. Under the latch (a few instructions) it blocks the workers of its buffer.
//
// Protocol. `ssn` and `offset` are stored under `latch`. Any thread may load `ssn` at any time,
// because it only grows. `filled` is stored (release) under `advancing`, after its durable sequence
// was recorded. Only its worker uses a WorkerState. A publisher raises `wanted_`, fills its
// segment, then fences and looks for a sleeping daemon (Stream::published). The daemon stores that
// it sleeps, fences, and calls filled().
#include <algorithm>

#include "logging/buffer/segment_index.h"
#include "logging/scheme_bases/multi_stream_scheme.h"
#include "logging/scheme_registry.h"
#include "logging/stream/io_unit.h"
#include "logging/stream/wanted_watermark.h"
#include "platform/spin.h"

namespace logjam {
namespace {

using platform::memory_order_acquire;
using platform::memory_order_relaxed;
using platform::memory_order_release;

enum Queue : uint8_t { kQwr, kQww };

RecoveryRule up_to_rsne_and_write_only() {
  RecoveryRule rule = min_cut(&StreamTail::last_sequence, "RSNe");
  rule.survives = [](const RecordHeader& header, const Cut& cut) {
    return header.sequence <= cut.sequence || (header.flags & kWriteOnly) != 0;
  };
  return rule;
}

class Poplar final : public MultiStreamScheme {
 public:
  explicit Poplar(const LogConfig& config)
      : MultiStreamScheme(config),
        io_unit_bytes_(io_unit_bytes()),
        workers_(config.workers),
        wanted_(streams()) {
    for (uint32_t s = 0; s < streams(); ++s) {
      const uint64_t units = stream(s).ring().capacity() / io_unit_bytes_;
      buffers_.push_back(std::make_unique<Buffer>(units));
    }
  }

  LogReservation reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    const uint32_t home_stream = home(worker);
    Buffer& buffer = *buffers_[home_stream];
    stream(home_stream).lock_with_space(buffer.latch, buffer.offset, bytes);
    const uint64_t begin = buffer.offset;
    const uint64_t ssn =
        std::max({deps.max_read, deps.max_overwritten, buffer.ssn.load(memory_order_relaxed)}) + 1;
    const uint32_t segment = take(buffer, bytes, ssn);
    if (buffer.segments.open_bytes() >= io_unit_bytes_ && !buffer.segments.full()) {
      buffer.segments.close(buffer.offset, ssn);
    }
    buffer.latch.unlock();
    workers_[worker] = {segment, deps.reads};
    return reservation(home_stream, begin, bytes, ssn);
  }

  CommitPoint publish(uint32_t worker, const LogReservation& reservation, bool,
                      bool commits) override {
    const WorkerState& me = workers_[worker];
    const uint32_t home_stream = reservation.stream;
    if (commits && me.reads) wanted_.raise(home_stream, reservation.sequence);
    buffers_[home_stream]->segments.filled(me.segment, reservation.bytes);
    stream(home_stream).published(commits);
    return me.reads ? CommitPoint::in_every_stream(reservation.sequence, kQwr)
                    : CommitPoint::in_stream(home_stream, reservation.sequence, kQww);
  }

  CommitPoint commit_read_only(uint32_t worker, const Dependencies& deps) override {
    const CommitPoint point = CommitPoint::in_every_stream(deps.max_read, kQwr);
    if (!is_durable(point) && wanted_.raise(home(worker), deps.max_read)) notify_behind();
    return point;
  }

 private:
  struct WorkerState {
    uint32_t segment = 0;  // between reserve and publish
    bool reads = false;
  };
  struct alignas(platform::kCacheLine) Buffer {
    explicit Buffer(uint64_t units) : segments(units) {}

    platform::SpinLock latch;
    platform::atomic<uint64_t> ssn{0};
    uint64_t offset = 0;
    SegmentIndex segments;

    alignas(platform::kCacheLine) platform::SpinLock advancing;
    platform::atomic<uint64_t> filled{0};
  };

  // Called under the latch: takes `bytes` for a record with number `ssn`. Returns the segment.
  static uint32_t take(Buffer& buffer, uint64_t bytes, uint64_t ssn) {
    buffer.ssn.store(ssn, memory_order_relaxed);
    buffer.offset += bytes;
    return buffer.segments.allocate(bytes);
  }

  void notify_behind() {
    notify_flushers_behind(wanted_.wanted(),
                           [&](uint32_t s) { return buffers_[s]->ssn.load(memory_order_relaxed); });
  }

  uint64_t filled(uint32_t index) override {
    Buffer& buffer = *buffers_[index];
    if (!buffer.segments.pending()) close_segment(index, buffer);
    if (buffer.segments.pending()) {
      bool passed = false;
      buffer.advancing.lock();
      buffer.segments.advance([&](uint64_t end, uint64_t ssn) {
        record_durable_sequence(index, end, ssn);
        buffer.filled.store(end, memory_order_release);
        passed = true;
      });
      buffer.advancing.unlock();
      // The publishers of these segments raised `wanted_` before they filled them, so here it has
      // their numbers.
      if (passed) notify_behind();
    }
    return buffer.filled.load(memory_order_acquire);
  }

  // Closes the open segment because the flusher has nothing else to flush.
  void close_segment(uint32_t index, Buffer& buffer) {
    const uint64_t raise = wanted_.wanted();
    const auto behind = [&] { return buffer.ssn.load(memory_order_relaxed) < raise; };
    const bool quiet = buffer.filled.load(memory_order_relaxed) == stream(index).durable();
    const bool open = buffer.segments.open_bytes() != 0;
    if (!open && !(quiet && behind())) return;

    buffer.latch.lock();
    if (behind() && fits(index, buffer.offset + kWatermarkBytes)) {
      const uint64_t begin = buffer.offset;
      const uint32_t segment = take(buffer, kWatermarkBytes, raise);
      write_watermark(index, begin, raise);
      buffer.segments.filled(segment, kWatermarkBytes);
    }
    if (buffer.segments.open_bytes() != 0 && !buffer.segments.full()) {
      buffer.segments.close(buffer.offset, buffer.ssn.load(memory_order_relaxed));
    }
    buffer.latch.unlock();
  }

  const uint64_t io_unit_bytes_;
  WorkerStates<WorkerState> workers_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  WantedWatermark wanted_;  // a slot for each buffer
};

const SchemeRegistration registration({
    .name = "poplar",
    .streams = "1 per device",
    .buffer = "latched offset, segment index",
    .sequence = "SSN: over reads, overwrites, buffer",
    .flushed_by = "logger each, leader",
    .safe_when = "write-only: SSN <= own DSN; else SSN <= CSN",
    .cut = "RSNe; write-only beyond it kept",
    .source = "Poplar Alg. 1, 2; sections 4, 5",
    .recovery = up_to_rsne_and_write_only(),
    .stream_count = stream_per_directory,
    .construct = construct<Poplar>,
    .check_flags = check_io_unit,
});

}  // namespace
}  // namespace logjam
