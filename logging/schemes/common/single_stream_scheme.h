// The common part of all schemes with one Stream, which a leader or the daemon flushes.
//
// The sequence number is the LSN: the byte offset of the record's *end*. So the LSN is never 0, and
// "LSN <= durable" means that the whole record is durable. Log order is the order of reserve(),
// hence a serial order. If a transaction reads or overwrites a version, the version's record has a
// smaller number than the transaction's record, and lies before it. So a prefix of the log depends
// on nothing outside it (R4), and the recovery rule is first_gap(). Under early lock release a
// transaction may read a version that is not durable yet. So a read-only transaction waits for the
// largest number that it read (R1). With LogParts::unlock the version's record may be a hole. The
// hole stops SBL before the reader's record, and the reader waits for the hole's end at least.
//
// ELEDA has two watermarks. SBL, the *sequentially buffered* LSN, is the position up to which the
// ring is filled without a hole (Aether calls the bytes before it released). SDL, the *storage
// durable* LSN, is the position up to which the log is on the device.
#pragma once

#include "logging/scheme_registry.h"
#include "logging/stream/stream.h"

namespace logjam {

class SingleStreamScheme : public LogScheme, private StreamOwner {
 public:
  CommitPoint publish(uint32_t worker, const LogReservation& reservation, RecordRole role) final {
    fill_done(worker, reservation, role);
    stream_.on_publish(commits(role));
    after_publish(worker, role);
    return commit_point(reservation.sequence);
  }
  CommitPoint commit_read_only(uint32_t, const Dependencies& deps) override {
    return commit_point(deps.max_read);
  }
  bool is_durable(const CommitPoint& point) const override { return point.sequence <= sdl(); }
  void poll(uint32_t) override { stream_.poll(); }
  uint32_t flushers() const override { return 1; }
  int flusher_socket(uint32_t) const override { return stream_.home().socket; }
  void flush(uint32_t, bool stopping) override LJ_REQUIRES(platform::log_role) {
    stream_.flush(stopping ? Flush::kNow : Flush::kByPolicy);
  }
  void wait_durable(uint32_t worker, const CommitPoint& point) override {
    stream_.wait(worker, point);
  }
  void rely_on_flushers(bool begins) override { stream_.rely_on_daemon(begins); }
  bool idle() const override { return stream_.idle(); }
  uint64_t max_record_bytes() const override { return stream_.ring().max_record_bytes(); }
  std::vector<uint64_t> durable_positions() const override { return {sdl()}; }
  std::vector<uint64_t> durable_sequences() const override { return {sdl()}; }
  // Returns SBL. A scheme whose SBL may lie inside a record overrides this function.
  std::vector<uint64_t> published_positions() override { return {sbl()}; }
  Counters counters() const override { return stream_.counters(); }

 protected:
  explicit SingleStreamScheme(const LogConfig& config)
      : LogScheme(config), stream_(config, 0, waiters(), *this) {}

  // Makes the record in the hole visible, so that sbl() may pass the hole.
  virtual void fill_done(uint32_t worker, const LogReservation& reservation, RecordRole role) = 0;
  // Completes a publish, after Stream::on_publish() and its full fence.
  virtual void after_publish(uint32_t /*worker*/, RecordRole /*role*/) {}
  // Returns SBL, and may advance it (see Stream). Any thread may call it.
  virtual uint64_t sbl() const = 0;
  uint64_t sdl() const { return stream_.durable(); }

  static CommitPoint commit_point(uint64_t lsn) { return CommitPoint::in_stream(0, lsn); }
  LogReservation reservation(uint64_t begin, uint32_t bytes, uint64_t waited_ticks) const {
    LJ_ASSERT_IN_TESTS(begin % 8 == 0 && bytes % 8 == 0 && bytes <= max_record_bytes());
    LJ_ASSERT_IN_TESTS(stream_.ring().fits(begin + bytes));
    return {.sequence = begin + bytes,
            .position = begin,
            .durable = sdl(),
            .hole = stream_.at(begin, bytes),
            .bytes = bytes,
            .stream = 0,
            .waited_ticks = waited_ticks};
  }
  Stream& stream() { return stream_; }
  const Stream& stream() const { return stream_; }

 private:
  uint64_t filled(uint32_t) final { return sbl(); }

  Stream stream_;
};

// Returns the registration of a single-stream scheme, with the most common values.
inline SchemeInfo lsn_scheme(SchemeInfo info) {
  fill_in(info.streams, "1");
  fill_in(info.sequence, "byte offset (LSN)");
  fill_in(info.flushed_by, "leader or daemon");
  fill_in(info.safe_when, "LSN <= durable");
  fill_in(info.cut, "first gap");
  info.may_have.pace = kEveryPart.pace;
  info.recovery = first_gap();
  info.stream_count = one_stream;
  return info;
}

}  // namespace logjam
