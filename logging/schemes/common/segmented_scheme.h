// The common part of schemes with a segmented log buffer and a logger for each device, and with
// numbers that grow along dependencies and in each buffer (Poplar's design, section 4). Each
// buffer has an equal share of the workers.
//
// Segments (section 4.3). A worker closes a segment that has reached the I/O unit. A thread that is
// about to write closes a shorter segment, unless a closed segment still has a hole
// (filled_to_write). A thread that only asks whether there is something to write closes no segment
// (filled).
//
// Idle buffers (R5). A buffer lags if its number is smaller than the largest number of a commit
// that waits for all buffers. The buffer's flusher then appends a watermark record: at once if the
// buffer is quiet, otherwise at the end of a segment that the flusher closes. A watermark record
// gets its number under the latch, as other records do, so later records have larger numbers.
//
// Protocol. The buffer's is in common/segmented_buffer.h. Only its worker uses a segment of
// open_segments_. A publisher raises `wanted_`, fills its segment, then fences and loads whether
// the daemon sleeps (Stream::on_publish). The daemon stores that it sleeps, fences, and calls
// filled().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "logging/schemes/common/multi_stream_scheme.h"
#include "logging/schemes/common/segmented_buffer.h"
#include "logging/schemes/common/watermark_scheme.h"

namespace logjam {

class SegmentedScheme : public MultiStreamScheme {
 public:
  // Returns why --poplar_segment_bytes cannot be used, in one sentence, or an empty string. For
  // SchemeInfo::check_flags.
  static std::string check_segment_flag();

  Counters counters() const override;

 protected:
  // The queues of a worker's commit points: Poplar's Qwr and Qww.
  enum Queue : uint8_t { kEveryStreamQueue, kOwnStreamQueue };

  // Makes the buffers. The `stream_bits` low bits of a number are the number of its stream.
  explicit SegmentedScheme(const LogConfig& config, uint32_t stream_bits = 0);

  // Returns a hole in the worker's own buffer, with a number larger than `above`. Waits for room.
  LogReservation take_hole(uint32_t worker, uint64_t above, uint32_t bytes);
  // Hands the hole over, which is filled. Returns the commit point: `everywhere` says whether the
  // commit waits for all streams, or for its own.
  CommitPoint hand_over(uint32_t worker, const LogReservation& reservation, RecordRole role,
                        bool everywhere);
  // Returns a point that is durable when all streams are durable up to `sequence`, for a
  // transaction of `worker` that wrote nothing.
  CommitPoint read_only_point(uint32_t worker, uint64_t sequence);

  // Appends a watermark record to buffer `index` if the buffer lags. `closes` says whether the
  // caller is about to close a segment that has records. Any thread may call it.
  virtual void append_watermark(uint32_t index, bool closes);
  SegmentedBuffer& buffer(uint32_t index) { return *buffers_[index]; }
  // Returns the largest number of a commit that waits for all buffers.
  uint64_t wanted() const { return wanted_.wanted(); }

 private:
  void notify_lagging(Flush flush = Flush::kByPolicy) {
    notify_lagging_flushers(
        wanted(), [&](uint32_t s) { return buffers_[s]->sequence(); }, flush);
  }
  uint64_t filled(uint32_t index) override;
  uint64_t filled_to_write(uint32_t index, uint64_t) override;
  uint64_t pass_segments(uint32_t index);

  WorkerStates<uint32_t> open_segments_;  // between take_hole() and hand_over()
  std::vector<std::unique_ptr<SegmentedBuffer>> buffers_;
  WantedWatermark wanted_;  // a slot for each buffer
};

}  // namespace logjam
