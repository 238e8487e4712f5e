#include "logging/schemes/common/segmented_scheme.h"

#include <gflags/gflags.h>

#include "logging/flag_checks.h"

DEFINE_uint64(poplar_segment_bytes, 64 << 10,
              "length of a segment of the buffers of poplar and rfa; a power of 2");

namespace logjam {

std::string SegmentedScheme::check_segment_flag() {
  return check_power_of_two("poplar_segment_bytes", FLAGS_poplar_segment_bytes, 4 << 10);
}

SegmentedScheme::SegmentedScheme(const LogConfig& config, uint32_t stream_bits)
    : MultiStreamScheme(config), open_segments_(config.workers), wanted_(streams()) {
  for (uint32_t s = 0; s < streams(); ++s) {
    buffers_.push_back(
        std::make_unique<SegmentedBuffer>(stream(s), FLAGS_poplar_segment_bytes, config.workers,
                                          Numbers{stream_bits, stream_bits == 0 ? 0 : s}));
  }
}

LogReservation SegmentedScheme::take_hole(uint32_t worker, uint64_t above, uint32_t bytes) {
  const uint32_t index = home(worker);
  const auto [begin, sequence, segment, waited] = buffers_[index]->reserve(above, bytes);
  open_segments_[worker] = segment;
  return reservation(index, begin, bytes, sequence, waited);
}

CommitPoint SegmentedScheme::hand_over(uint32_t worker, const LogReservation& reservation,
                                       RecordRole role, bool everywhere) {
  const uint32_t index = reservation.stream;
  if (commits(role) && everywhere) wanted_.raise(index, reservation.sequence);
  buffers_[index]->publish(open_segments_[worker], reservation.bytes);
  return everywhere ? CommitPoint::in_every_stream(reservation.sequence, kEveryStreamQueue)
                    : CommitPoint::in_stream(index, reservation.sequence, kOwnStreamQueue);
}

CommitPoint SegmentedScheme::read_only_point(uint32_t worker, uint64_t sequence) {
  const CommitPoint point = CommitPoint::in_every_stream(sequence, kEveryStreamQueue);
  if (!is_durable(point) && wanted_.raise(home(worker), sequence)) notify_lagging();
  return point;
}

void SegmentedScheme::append_watermark(uint32_t index, bool) {
  const uint64_t most = wanted();
  buffers_[index]->raise(most, kWatermarkBytes,
                         [&](uint64_t begin) { write_watermark(index, begin, most); });
}

// Returns the end of the open segment, even if that has a hole: then the thread that is about to
// write closes the segment, and from then on the segment does not count.
uint64_t SegmentedScheme::filled(uint32_t index) {
  SegmentedBuffer& buffer = *buffers_[index];
  const uint64_t filled = pass_segments(index);
  if (buffer.pending()) return filled;
  const bool quiet = buffer.open_bytes() == 0 && filled == stream(index).durable();
  if (quiet) append_watermark(index, false);
  return filled + buffer.open_bytes();
}

uint64_t SegmentedScheme::filled_to_write(uint32_t index, uint64_t) {
  SegmentedBuffer& buffer = *buffers_[index];
  const uint64_t filled = pass_segments(index);
  if (buffer.pending() || buffer.open_bytes() == 0) return filled;
  append_watermark(index, true);
  buffer.close();
  const uint64_t passed = pass_segments(index);
  // The commits of the short segment have waited for T here, and wait for no other buffer's T.
  notify_lagging(Flush::kNow);
  return passed;
}

// Returns the position up to which segments are closed and filled.
uint64_t SegmentedScheme::pass_segments(uint32_t index) {
  const bool passed = buffers_[index]->pass(
      [&](uint64_t end, uint64_t sequence) { record_durable_sequence(index, end, sequence); });
  // The publishers of these segments raised `wanted_` before they filled them, so here it has
  // their numbers.
  if (passed) notify_lagging();
  return buffers_[index]->filled();
}

Counters SegmentedScheme::counters() const {
  Counters all = MultiStreamScheme::counters();
  for (const auto& buffer : buffers_) {
    all.add({{"segments", static_cast<double>(buffer->closed())}});
  }
  return all;
}

}  // namespace logjam
