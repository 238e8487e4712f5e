// The common part of schemes with a segmented log buffer and a logger for each device, and with
// numbers that grow along dependencies and in each buffer (Poplar's design, section 4). Each buffer
// has an equal share of the workers.
//
// Segments (section 4.3). A worker closes a segment that has reached the I/O unit. A thread that is
// about to write closes the open segment even if it is shorter, unless a closed segment has a hole
// (filled_to_write). A thread that only looks for something to write closes no segment (filled).
// If the write is to end at a block's end (StreamState::ends_at_block), padding fills the block of
// the closed segment's end. Otherwise the write would leave the end of the segment, and with it the
// segment's commits, to the next write.
//
// Idle buffers (R5). A buffer lags if its last number is below the largest number of a commit that
// waits for all buffers. The buffer's flusher then appends a watermark record: at once if the
// buffer is quiet, otherwise at the end of a segment that the flusher closes. A watermark record
// gets its number under the latch, as other records do, so later records have larger numbers.
//
// Protocol. A publisher raises `wanted_`, fills its segment, then fences and loads whether the
// daemon sleeps (Stream::on_publish). The daemon stores that it sleeps, fences, and calls filled().
#pragma once

#include "logging/schemes/common/scheme_flags.h"
#include "logging/schemes/common/segmented_buffer.h"
#include "logging/schemes/common/watermark_scheme.h"

namespace logjam {

class SegmentedScheme : public MultiStreamScheme {
 public:
  Counters counters() const override {
    Counters all = MultiStreamScheme::counters();
    for (const auto& one : buffers_) {
      all.add({{"segments", static_cast<double>(one->closed())},
               {"padding_bytes", static_cast<double>(one->padding_bytes())}});
    }
    return all;
  }

 protected:
  // The queues of a worker's commit points: Poplar's Qwr and Qww.
  enum Queue : uint8_t { kEveryStreamQueue, kOwnStreamQueue };

  explicit SegmentedScheme(const LogConfig& config)
      : MultiStreamScheme(config), open_segments_(config.workers), wanted_(streams()) {
    for (uint32_t s = 0; s < streams(); ++s) {
      buffers_.push_back(
          std::make_unique<SegmentedBuffer>(stream(s), poplar_segment_bytes(), config.workers));
    }
  }

  // Returns a hole in the worker's own buffer, with a number larger than `above`. Waits for room.
  LogReservation take_hole(uint32_t worker, uint64_t above, uint32_t bytes) {
    const uint32_t index = home(worker);
    const auto [begin, sequence, segment, waited] = buffers_[index]->reserve(above, bytes);
    open_segments_[worker] = segment;
    return reservation(index, begin, bytes, sequence, waited);
  }
  // Hands over the hole. `everywhere` says whether the commit waits for all streams.
  CommitPoint hand_over(uint32_t worker, const LogReservation& reservation, RecordRole role,
                        bool everywhere) {
    const uint32_t index = reservation.stream;
    if (commits(role) && everywhere) wanted_.raise(index, reservation.sequence);
    buffers_[index]->publish(open_segments_[worker], reservation.bytes);
    return everywhere ? CommitPoint::in_every_stream(reservation.sequence, kEveryStreamQueue)
                      : CommitPoint::in_stream(index, reservation.sequence, kOwnStreamQueue);
  }
  // Returns the commit point of a transaction that wrote nothing and has read `sequence`.
  CommitPoint read_only_point(uint32_t worker, uint64_t sequence) {
    const CommitPoint point = CommitPoint::in_every_stream(sequence, kEveryStreamQueue);
    if (!is_durable(point) && wanted_.raise(home(worker), sequence)) notify_lagging();
    return point;
  }

 private:
  // Appends a watermark record to buffer `index` if the buffer lags. Any thread may call it.
  void append_watermark(uint32_t index) {
    const uint64_t most = wanted_.wanted();
    buffers_[index]->raise(most, kWatermarkBytes,
                           [&](uint64_t begin) { write_watermark(index, begin, most); });
  }
  void notify_lagging(Flush flush = Flush::kByPolicy) {
    notify_lagging_flushers(
        wanted_.wanted(), [&](uint32_t s) { return buffers_[s]->sequence(); }, flush);
  }
  // Counts the open segment even if it has a hole, because filled_to_write() closes this segment.
  uint64_t filled(uint32_t index) override {
    SegmentedBuffer& buffer = *buffers_[index];
    const uint64_t filled = pass_segments(index);
    if (buffer.pending()) return filled;
    const bool quiet = buffer.open_bytes() == 0 && filled == stream(index).durable();
    if (quiet) append_watermark(index);
    return filled + buffer.open_bytes();
  }
  uint64_t filled_to_write(uint32_t index, uint64_t) override {
    SegmentedBuffer& buffer = *buffers_[index];
    const uint64_t filled = pass_segments(index);
    if (buffer.pending() || buffer.open_bytes() == 0) return filled;
    append_watermark(index);
    buffer.close([&](uint64_t begin, uint64_t bytes, uint64_t sequence) {
      write_padding(index, begin, static_cast<uint32_t>(bytes), sequence);
    });
    const uint64_t passed = pass_segments(index);
    // The segment's commits have already waited for this stream's timer (--flush=us:T). So they
    // must not also wait for the timers of other streams.
    notify_lagging(Flush::kNow);
    return passed;
  }
  uint64_t pass_segments(uint32_t index) {
    const bool passed = buffers_[index]->pass(
        [&](uint64_t end, uint64_t sequence) { record_durable_sequence(index, end, sequence); });
    // The publishers of these segments raised `wanted_` before they filled their records, so other
    // buffers may lag now.
    if (passed) notify_lagging();
    return buffers_[index]->filled();
  }

  WorkerStates<uint32_t> open_segments_;  // the segment of a worker's hole, until hand_over()
  std::vector<std::unique_ptr<SegmentedBuffer>> buffers_;
  WantedWatermark wanted_;
};

}  // namespace logjam
