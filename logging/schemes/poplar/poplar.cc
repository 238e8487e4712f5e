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
// Segments (section 4.3). A worker closes a segment that has reached the I/O unit. A logger, or
// another thread that flushes, closes a shorter one when the flush policy says that it must write,
// unless a closed segment still has a hole (filled_to_write). A thread that only asks whether there
// is something to flush closes no segment (filled).
//
// Idle buffers (R5). If a buffer lags, which means that its SSN is smaller than the largest SSN of
// a transaction that read, its flusher raises the buffer with a watermark record of that SSN: at
// once if the buffer is quiet, otherwise at the end of a segment that the flusher closes. Watermark
// records get their numbers under the latch, as other records do, so later records have larger
// numbers.
//
// A descheduled worker. Between reserve and publish it blocks its buffer's DSN, and with the DSN
// the CSN. Under the latch (a few instructions) it blocks the workers of its buffer.
//
// Protocol. The buffer's is in logging/schemes/poplar/segmented_buffer.h. Only its worker uses a
// WorkerState. A publisher raises `wanted_`, fills its segment, then fences and loads whether the
// daemon sleeps (Stream::published). The daemon stores that it sleeps, fences, and calls filled().
#include <gflags/gflags.h>

#include <algorithm>

#include "logging/flag_checks.h"
#include "logging/scheme_registry.h"
#include "logging/schemes/common/multi_stream_scheme.h"
#include "logging/schemes/common/wanted_watermark.h"
#include "logging/schemes/poplar/segmented_buffer.h"

DEFINE_uint64(poplar_segment_bytes, 64 << 10, "length of a segment of the buffer; a power of 2");

namespace logjam {
namespace {

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
      : MultiStreamScheme(config), workers_(config.workers), wanted_(streams()) {
    for (uint32_t s = 0; s < streams(); ++s) {
      buffers_.push_back(
          std::make_unique<SegmentedBuffer>(stream(s), FLAGS_poplar_segment_bytes, config.workers));
    }
  }

  LogReservation reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    const uint32_t home_stream = home(worker);
    const auto [begin, ssn, segment, waited] =
        buffers_[home_stream]->reserve(std::max(deps.max_read, deps.max_overwritten), bytes);
    workers_[worker] = {segment, deps.reads};
    return reservation(home_stream, begin, bytes, ssn, waited);
  }

  CommitPoint publish(uint32_t worker, const LogReservation& reservation,
                      RecordRole role) override {
    const WorkerState& me = workers_[worker];
    const uint32_t home_stream = reservation.stream;
    if (commits(role) && me.reads) wanted_.raise(home_stream, reservation.sequence);
    buffers_[home_stream]->publish(me.segment, reservation.bytes);
    stream(home_stream).published(commits(role));
    return me.reads ? CommitPoint::in_every_stream(reservation.sequence, kQwr)
                    : CommitPoint::in_stream(home_stream, reservation.sequence, kQww);
  }

  CommitPoint commit_read_only(uint32_t worker, const Dependencies& deps) override {
    const CommitPoint point = CommitPoint::in_every_stream(deps.max_read, kQwr);
    if (!is_durable(point) && wanted_.raise(home(worker), deps.max_read)) notify_lagging();
    return point;
  }

  Counters counters() const override {
    Counters all = MultiStreamScheme::counters();
    for (const auto& buffer : buffers_) {
      all.add({{"segments", static_cast<double>(buffer->closed())}});
    }
    return all;
  }

 private:
  struct WorkerState {
    uint32_t segment = 0;  // between reserve and publish
    bool reads = false;
  };

  void notify_lagging(Flush flush = Flush::kByPolicy) {
    notify_lagging_flushers(
        wanted_.wanted(), [&](uint32_t s) { return buffers_[s]->sequence(); }, flush);
  }

  // Returns the end of the open segment, even if that has a hole: then the thread that is about to
  // write closes the segment, and from then on the segment does not count.
  uint64_t filled(uint32_t index) override {
    SegmentedBuffer& buffer = *buffers_[index];
    const uint64_t filled = pass_segments(index);
    if (buffer.pending()) return filled;
    const bool quiet = buffer.open_bytes() == 0 && filled == stream(index).durable();
    if (quiet) raise_if_lagging(index);
    return filled + buffer.open_bytes();
  }

  uint64_t filled_to_write(uint32_t index, uint64_t) override {
    SegmentedBuffer& buffer = *buffers_[index];
    const uint64_t filled = pass_segments(index);
    if (buffer.pending() || buffer.open_bytes() == 0) return filled;
    raise_if_lagging(index);
    buffer.close();
    const uint64_t passed = pass_segments(index);
    // The commits of the short segment have waited for T here, and wait for no other buffer's T.
    notify_lagging(Flush::kNow);
    return passed;
  }

  // Returns the position up to which segments are closed and filled.
  uint64_t pass_segments(uint32_t index) {
    const bool passed = buffers_[index]->pass(
        [&](uint64_t end, uint64_t ssn) { record_durable_sequence(index, end, ssn); });
    // The publishers of these segments raised `wanted_` before they filled them, so here it has
    // their numbers.
    if (passed) notify_lagging();
    return buffers_[index]->filled();
  }

  // Writes a watermark record if the buffer lags.
  void raise_if_lagging(uint32_t index) {
    const uint64_t wanted = wanted_.wanted();
    buffers_[index]->raise(wanted, kWatermarkBytes,
                           [&](uint64_t begin) { write_watermark(index, begin, wanted); });
  }

  WorkerStates<WorkerState> workers_;
  std::vector<std::unique_ptr<SegmentedBuffer>> buffers_;
  WantedWatermark wanted_;  // a slot for each buffer
};

const SchemeRegistration registration({
    .name = "poplar",
    .differs = "a buffer that lags gets watermark records",
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
    .check_flags =
        [] {
          return check_power_of_two("poplar_segment_bytes", FLAGS_poplar_segment_bytes, 4 << 10);
        },
});

}  // namespace
}  // namespace logjam
