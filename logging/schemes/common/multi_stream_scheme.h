// The common part of all schemes with several streams: a Stream with a flusher for each device (or
// worker), the sequence number up to which each stream is durable, and the waits for streams.
//
// A scheme implements `reserve`, `fill_done`, and `filled(s)`, which returns the position up to
// which stream s has no unfilled hole. Before filled(s) (or filled_to_write(s), if the scheme has
// one) returns a larger position than before, the scheme calls record_durable_sequence(s, end,
// sequence): all records of s with numbers up to `sequence`, present or future, lie before `end`.
// Two functions follow:
//
//   durable_sequence(s)         all records of stream s, present or future, with numbers up to this
//                               one are durable (Poplar's DSN)
//   global_durable_sequence()   the least durable_sequence(s) of all streams (Poplar's CSN)
//
// and two kinds of commit points: in_stream(s, n) is durable when durable_sequence(s) >= n, and
// in_every_stream(n) is durable when global_durable_sequence() >= n.
//
// Idle streams (R5). A stream *lags* if its numbers have not reached a number that a commit waits
// for (WantedWatermark). If stream s lags and has no record to write, filled(s) writes a watermark
// record into s. This record says that every later record of s has a larger number. So neither the
// global durable sequence nor recovery's cut stalls. Every thread that may flush s calls filled(s):
// the daemon of s, its leader, and all workers between transactions (poll). The scheme wakes the
// daemon of a stream that needs a record (notify_flusher).
//
// Waiting. A worker that waits for every stream begins with a write on each device that can take a
// write. Then it waits for one stream after the other (Stream::wait). No worker relies on
// time-outs: a hole that blocks a stream belongs to a worker that will publish the hole, and a
// stream that lags has work pending, or its flusher is notified.
//
// Protocol. Any thread raises global_durable_sequence_ (release), which only grows. So all records
// up to a loaded value are durable. lagging_ is a hint: a stream that lagged at an earlier look.
#pragma once

#include "logging/format/record_writer.h"
#include "logging/scheme_registry.h"
#include "logging/schemes/common/durable_sequence.h"
#include "logging/schemes/common/worker_states.h"
#include "logging/stream/stream.h"

namespace logjam {

class MultiStreamScheme : public LogScheme, protected StreamOwner {
 public:
  CommitPoint publish(uint32_t worker, const LogReservation& reservation, RecordRole role) final {
    const CommitPoint point = fill_done(worker, reservation, role);
    stream(reservation.stream).on_publish(commits(role));
    after_publish(worker, reservation, role);
    return point;
  }
  bool is_durable(const CommitPoint& point) const override {
    switch (point.scope) {
      case CommitPoint::Scope::kStream:
        LJ_ASSERT_IN_TESTS(point.index < streams());
        return point.sequence <= durable_sequence(point.index);
      case CommitPoint::Scope::kEveryStream:
        return everywhere_durable(point.sequence);
      default:
        return true;
    }
  }
  CommitPoint commit_read_only(uint32_t, const Dependencies& deps) override {
    return CommitPoint::in_every_stream(deps.max_read);
  }
  void poll(uint32_t worker) override {
    const uint32_t own = home(worker);
    stream(own).poll();
    if (streams() == 1) return;
    uint32_t& turn = turns_[worker];
    turn = turn + 1 < streams() ? turn + 1 : 0;
    if (turn != own) stream(turn).poll();
  }
  uint32_t flushers() const override { return streams(); }
  int flusher_socket(uint32_t flusher) const override {
    return flusher < streams() ? stream(flusher).home().socket : platform::kNoSocket;
  }
  void flush(uint32_t flusher, bool stopping) override LJ_REQUIRES(platform::log_role) {
    stream(flusher).flush(stopping ? Flush::kNow : Flush::kByPolicy);
  }
  void wait_durable(uint32_t worker, const CommitPoint& point) override {
    if (point.scope == CommitPoint::Scope::kStream) {
      return stream(point.index).wait(worker, point, of_waiters_);
    }
    while (!is_durable(point)) {
      wait_for_each(worker,
                    [&](uint32_t index) { return CommitPoint::in_stream(index, point.sequence); });
    }
  }
  void rely_on_flushers(bool begins) override {
    for (const auto& entry : streams_) entry->stream.rely_on_daemon(begins);
  }
  bool idle() const override {
    return std::ranges::all_of(streams_, [](const auto& entry) { return entry->stream.idle(); });
  }
  uint64_t max_record_bytes() const override { return stream(0).ring().max_record_bytes(); }
  uint32_t home(uint32_t worker) const override { return homes_[worker]; }
  std::vector<uint64_t> durable_positions() const override {
    std::vector<uint64_t> positions;
    for (const auto& entry : streams_) positions.push_back(entry->stream.durable());
    return positions;
  }
  // Calls filled_to_write(), because filled() may count an open group of records that has a hole.
  std::vector<uint64_t> published_positions() override {
    std::vector<uint64_t> positions;
    for (uint32_t index = 0; index < streams(); ++index) {
      positions.push_back(filled_to_write(index, filled(index)));
      // filled_to_write() may have appended a watermark record, of which no flusher knows.
      if (positions.back() != stream(index).durable()) {
        stream(index).on_wanted(Flush::kByPolicy);
      }
    }
    return positions;
  }
  std::vector<uint64_t> durable_sequences() const override {
    std::vector<uint64_t> sequences;
    for (uint32_t index = 0; index < streams(); ++index)
      sequences.push_back(durable_sequence(index));
    return sequences;
  }
  Counters counters() const override {
    Counters all;
    for (const auto& entry : streams_) all.add(entry->stream.counters());
    const uint64_t watermarks = watermark_count_.load(platform::memory_order_relaxed);
    return all.add({{"watermark_records", static_cast<double>(watermarks)}});
  }

 protected:
  static constexpr uint32_t kWatermarkBytes = sizeof(RecordHeader);

  // Makes the streams. `of_waiters` says whether a waiting worker follows the flush policy.
  explicit MultiStreamScheme(const LogConfig& config, Flush of_waiters = Flush::kByPolicy,
                             Writers writers = Writers::kDealt)
      : LogScheme(config), of_waiters_(of_waiters), turns_(config.workers) {
    LJ_ASSERT(!config.devices.empty() && config.devices.size() % config.stripes == 0);
    for (uint32_t index = 0; index < config.devices.size() / config.stripes; ++index) {
      streams_.push_back(std::make_unique<Entry>(config, index, writers, *this));
    }
    homes_ = streams_of_workers(config, streams());
  }

  // Makes the hole's record visible, so that filled() may pass the hole. Returns the commit point.
  virtual CommitPoint fill_done(uint32_t worker, const LogReservation& reservation,
                                RecordRole role) = 0;
  // Completes a publish, after Stream::on_publish() and its full fence.
  virtual void after_publish(uint32_t /*worker*/, const LogReservation& /*reservation*/,
                             RecordRole /*role*/) {}
  // Returns filled() again, so that a write includes the newest records. A scheme that groups
  // records closes the open group here, and not in filled(), which is called far more often than
  // this function. Called under the flush latch when a write is due, and by any thread for
  // published_positions().
  uint64_t filled_to_write(uint32_t stream, uint64_t) override { return filled(stream); }
  uint32_t streams() const { return static_cast<uint32_t>(streams_.size()); }
  std::vector<uint32_t> workers_of(uint32_t index) const {
    std::vector<uint32_t> workers;
    for (uint32_t worker = 0; worker < homes_.size(); ++worker) {
      if (homes_[worker] == index) workers.push_back(worker);
    }
    return workers;
  }
  Stream& stream(uint32_t index) const { return streams_[index]->stream; }
  bool fits(uint32_t index, uint64_t end) const { return stream(index).ring().fits(end); }

  void record_durable_sequence(uint32_t index, uint64_t end, uint64_t sequence) {
    durable_sequence(index);  // removes old pairs, to make room for this pair
    streams_[index]->durable_sequence.record(end, sequence);
  }
  uint64_t durable_sequence(uint32_t index) const {
    Entry& entry = *streams_[index];
    return entry.durable_sequence.at(entry.stream.durable());
  }
  // Returns the end of a record up to which the stream is durable. The records that the last
  // durable_sequence(index) covers lie before this end. Called after durable_sequence(index).
  uint64_t durable_sequence_end(uint32_t index) const {
    return streams_[index]->durable_sequence.end();
  }
  uint64_t global_durable_sequence() const {
    uint64_t least = ~uint64_t{0};
    for (uint32_t index = 0; index < streams(); ++index) {
      least = std::min(least, durable_sequence(index));
    }
    platform::atomic_max(global_durable_sequence_, least, platform::memory_order_release);
    return least;
  }

  LogReservation reservation(uint32_t index, uint64_t begin, uint32_t bytes, uint64_t sequence,
                             uint64_t waited_ticks = 0) const {
    LJ_ASSERT_IN_TESTS(begin % 8 == 0 && bytes % 8 == 0 &&
                       bytes <= stream(index).ring().max_record_bytes());
    LJ_ASSERT_IN_TESTS(sequence >> kSequenceBits == 0);
    LJ_ASSERT_IN_TESTS(fits(index, begin + bytes));
    return {.sequence = sequence,
            .position = begin,
            .durable = stream(index).durable(),
            .hole = stream(index).at(begin, bytes),
            .bytes = bytes,
            .stream = index,
            .waited_ticks = waited_ticks};
  }
  void write_watermark(uint32_t index, uint64_t begin, uint64_t sequence) {
    write_watermark_body(index, begin, sequence, {});
    count_watermark();
  }
  void count_watermark() { watermark_count_.fetch_add(1, platform::memory_order_relaxed); }
  // Fills a hole at `begin` with a watermark record. The record's body has a word for each stream:
  // the stream's position in `positions`, and the position up to which the stream is durable. If
  // `positions` is empty, the record has no body.
  void write_watermark_body(uint32_t index, uint64_t begin, uint64_t sequence,
                            std::span<const uint64_t> positions) {
    LJ_ASSERT(positions.empty() || positions.size() == streams());
    const uint32_t bytes = positions.empty() ? kWatermarkBytes : watermark_body_bytes();
    const LogReservation hole = reservation(index, begin, bytes, sequence);
    RecordWriter record(hole, RecordKind::kWatermark, 0);
    for (uint32_t s = 0; s < positions.size(); ++s) {
      record.add(WatermarkWord::encode(positions[s], stream(s).durable()));
    }
    record.seal(run(), begin);
  }
  void write_padding(uint32_t index, uint64_t begin, uint32_t bytes, uint64_t sequence) {
    const LogReservation hole = reservation(index, begin, bytes, sequence);
    RecordWriter(hole, RecordKind::kPadding, 0).seal(run(), begin);
  }
  uint32_t watermark_body_bytes() const {
    return kWatermarkBytes + streams() * static_cast<uint32_t>(sizeof(uint64_t));
  }
  template <class PointOf>
  void wait_for_each(uint32_t worker, const PointOf& point_of) {
    const uint32_t own = home(worker);
    for (uint32_t i = 0; i < streams(); ++i) {
      const uint32_t index = (own + i) % streams();
      if (!is_durable(point_of(index))) stream(index).poll(of_waiters_);
    }
    for (uint32_t i = 0; i < streams(); ++i) {
      const uint32_t index = (own + i) % streams();
      if (!is_durable(point_of(index))) stream(index).wait(worker, point_of(index), of_waiters_);
    }
  }
  void notify_flusher(uint32_t index) { stream(index).on_publish(false); }
  // Wakes the flusher of each stream whose `watermark(stream)` is below `wanted`. With Flush::kNow,
  // the flusher does not wait for its stream's timer (--flush=us:T). Any thread may call this
  // function and notify_flusher().
  template <class Watermark>
  void notify_lagging_flushers(uint64_t wanted, const Watermark& watermark,
                               Flush flush = Flush::kByPolicy) {
    for (uint32_t s = 0; s < streams(); ++s) {
      if (watermark(s) < wanted) stream(s).on_wanted(flush);
    }
  }

 private:
  struct Entry {
    Entry(const LogConfig& config, uint32_t index, Writers writers, MultiStreamScheme& scheme)
        : stream(config, index, scheme.waiters(), scheme, writers) {}

    Stream stream;
    DurableSequence durable_sequence;
  };

  // Returns whether every stream is durable up to number `wanted`. Workers ask after each
  // transaction, and mostly the answer is no. So the function first looks at the stream that lagged
  // last time: each further stream may cost a transfer of a cache line.
  bool everywhere_durable(uint64_t wanted) const {
    if (global_durable_sequence_.load(platform::memory_order_acquire) >= wanted) return true;
    if (durable_sequence(lagging_.load(platform::memory_order_relaxed)) < wanted) return false;
    for (uint32_t index = 0; index < streams(); ++index) {
      if (durable_sequence(index) >= wanted) continue;
      lagging_.store(index, platform::memory_order_relaxed);
      return false;
    }
    return global_durable_sequence() >= wanted;
  }

  const Flush of_waiters_;
  std::vector<uint32_t> homes_;  // the stream of each worker
  std::vector<std::unique_ptr<Entry>> streams_;
  WorkerStates<uint32_t> turns_;
  platform::atomic<uint64_t> watermark_count_{0};
  alignas(platform::kCacheLine) mutable platform::atomic<uint64_t> global_durable_sequence_{0};
  mutable platform::atomic<uint32_t> lagging_{0};
};

// Returns the registration of a scheme with a stream for each device, with the most common values.
inline SchemeInfo device_scheme(SchemeInfo info) {
  fill_in(info.streams, "1 per device");
  fill_in(info.flushed_by, "logger each, leader");
  info.may_have.pace = kEveryPart.pace;
  info.may_have.rounds = true;
  info.stream_count = stream_per_directory;
  return info;
}

}  // namespace logjam
