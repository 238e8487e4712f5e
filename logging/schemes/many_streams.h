// What all schemes with several streams share: a Stream for each device (or worker), a flusher for
// each, watermarks in sequence numbers, their minimum, and waiting across streams.
//
// A scheme says three things: `reserve` and `publish` as ever, and `filled(s)`: up to where stream
// s has no unfilled hole. Before filled(s) returns something larger than before, the scheme says
// with covers(s, end, sequence) which sequence numbers that stands for. From this come
//
//   durable_sequence(s)   all that stream s has, or will ever have, of numbers up to it is durable
//   minimum()             the least of these (Poplar's CSN)
//
// and two kinds of points: {n, s} is durable when durable_sequence(s) >= n, {n, kEveryStream} when
// minimum() >= n.
//
// Idle streams (R5). The minimum must not stall because one stream has nothing to write, and
// recovery must see that it did not. So a scheme whose stream has no record to write but is behind
// a number that somebody waits for writes a kMark record: "whatever I write from here on is
// larger". filled(s) is the place: it is asked by everyone who may flush s, which are its daemon,
// its leader, and all workers between transactions (tick: their own stream, and one other by
// turns). When there is need for a mark, call poke(s): a daemon that sleeps because there was
// nothing to do looks again.
//
// Waiting. Stream::wait leads, follows and parks for one stream. A wait for every stream is one
// after the other, but for starting them: first all devices are set to work that can be. No worker
// parks for a stream that is done already, and none relies on time-outs: a hole that blocks a
// stream is somebody's, who will publish it; a stream that is behind has work pending, or is poked.
//
// Protocol. minimum_ only grows, any thread, release; what is read from it was true then. Each
// member of turns_ is its worker's own.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "logging/buffer/sequence_marks.h"
#include "logging/log_scheme.h"
#include "logging/record.h"
#include "logging/stream.h"
#include "platform/spin.h"

namespace logjam {

class ManyStreams : public LogScheme {
 public:
  static constexpr uint32_t kEveryStream = ~uint32_t{0};

  bool is_durable(const Point& point) const override {
    if (point.sequence == 0) return true;
    return point.sequence <= (point.stream == kEveryStream ? minimum_for(point.sequence)
                                                           : durable_sequence(point.stream));
  }
  void tick(uint32_t worker) override;
  void flush(uint32_t flusher, bool stopping) override { stream(flusher).flush(stopping); }
  void wait_durable(uint32_t worker, const Point& point) override;
  bool idle() const override;
  uint64_t max_record_bytes() const override {
    return streams_.empty() ? 0 : streams_[0]->stream.ring().max_record_bytes();
  }
  Counters counters() const override;

 protected:
  static constexpr uint32_t kMarkBytes = sizeof(RecordHeader);

  // The streams of config.devices (none when recovering). `urgent`: who waits flushes, whatever the
  // flush policy.
  explicit ManyStreams(const LogConfig& config, bool urgent = false);

  virtual uint64_t filled(uint32_t stream) = 0;
  // The stream that the worker writes to, or most often.
  virtual uint32_t home(uint32_t worker) const { return worker % streams(); }

  uint32_t streams() const { return static_cast<uint32_t>(streams_.size()); }
  Stream& stream(uint32_t index) const { return streams_[index]->stream; }

  void covers(uint32_t index, uint64_t end, uint64_t sequence) {
    streams_[index]->marks.push(end, sequence);
  }
  uint64_t durable_sequence(uint32_t index) const {
    Entry& entry = *streams_[index];
    return entry.marks.sequence_at(entry.stream.durable());
  }
  uint64_t minimum() const;

  Ticket ticket(uint32_t index, uint64_t begin, uint32_t bytes, uint64_t sequence) const {
    return {.sequence = sequence,
            .position = begin,
            .hole = stream(index).at(begin),
            .bytes = bytes,
            .stream = index};
  }
  // Fills a hole of kMarkBytes; of any number of bytes, at least kMarkBytes.
  void write_mark(uint32_t index, uint64_t begin, uint64_t sequence);
  void write_padding(uint32_t index, uint64_t begin, uint64_t bytes);
  // Locks the latch of stream `index` with room for `bytes` behind `offset`, which it guards. What
  // is to make room may need that latch to be flushed: so nobody waits under it.
  void lock_with_space(uint32_t index, platform::SpinLock& latch, const uint64_t& offset,
                       uint64_t bytes);
  // Waits in each stream for `point_of(stream)`, a point whose stream is that one.
  template <class PointOf>
  void wait_for_each(uint32_t worker, const PointOf& point_of) {
    const uint32_t own = home(worker);
    for (uint32_t i = 0; i < streams(); ++i) {
      const uint32_t index = (own + i) % streams();
      if (!is_durable(point_of(index))) stream(index).tick(urgent_);
    }
    for (uint32_t i = 0; i < streams(); ++i) {
      const uint32_t index = (own + i) % streams();
      if (!is_durable(point_of(index))) stream(index).wait(worker, point_of(index), urgent_);
    }
  }
  // A flusher of this stream should look again.
  void poke(uint32_t index) { stream(index).published(false); }

 private:
  struct Entry {
    Entry(const LogConfig& config, uint32_t index, ManyStreams& scheme)
        : stream(config, index, scheme, [&scheme, index] { return scheme.filled(index); }) {}

    Stream stream;
    SequenceMarks marks;
  };

  uint64_t minimum_for(uint64_t wanted) const {
    const uint64_t known = minimum_.load(platform::memory_order_acquire);
    return known >= wanted ? known : minimum();
  }

  const uint64_t run_;
  const bool urgent_;
  std::vector<std::unique_ptr<Entry>> streams_;
  std::vector<platform::Padded<uint32_t>> turns_;
  platform::atomic<uint64_t> mark_count_{0};
  alignas(platform::kCacheLine) mutable platform::atomic<uint64_t> minimum_{0};
};

}  // namespace logjam
