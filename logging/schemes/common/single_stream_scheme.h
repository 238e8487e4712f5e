// What all schemes share that put LSN-numbered records into the ring of one Stream, which a leader
// or the daemon flushes.
//
// ELEDA has two watermarks. SBL, the *sequentially buffered* LSN, is the position up to which the
// ring is filled without a hole (Aether calls the bytes before it released). SDL, the *storage
// durable* LSN, is the position up to which the log is on the device.
#pragma once

#include "logging/schemes/common/lsn_scheme.h"
#include "logging/stream/stream.h"

namespace logjam {

class SingleStreamScheme : public LsnScheme, private StreamOwner {
 public:
  bool is_durable(const CommitPoint& point) const override { return point.sequence <= sdl(); }
  void poll(uint32_t) override { stream_.poll(); }
  uint32_t flushers() const override { return 1; }
  int flusher_socket(uint32_t) const override { return stream_.home().socket; }
  void flush(uint32_t, bool stopping) override {
    stream_.flush(stopping ? Flush::kNow : Flush::kByPolicy);
  }
  void wait_durable(uint32_t worker, const CommitPoint& point) override {
    stream_.wait(worker, point);
  }
  void rely_on_flushers(bool begins) override { stream_.rely_on_daemon(begins); }
  bool idle() const override { return stream_.idle(); }
  uint64_t max_record_bytes() const override { return stream_.ring().max_record_bytes(); }
  std::vector<uint64_t> durable_positions() const override { return {sdl()}; }
  // For schemes whose SBL is always the end of a record.
  std::vector<uint64_t> published_positions() override { return {sbl()}; }
  Counters counters() const override { return stream_.counters(); }

 protected:
  explicit SingleStreamScheme(const LogConfig& config,
                              uint64_t max_write_bytes = Stream::kMaxWriteBytes)
      : LsnScheme(config), stream_(config, 0, waiters(), *this, max_write_bytes) {}

  // Any thread. Returns SBL; the call may advance it (see Stream).
  virtual uint64_t sbl() const = 0;
  uint64_t sdl() const { return stream_.durable(); }

  LogReservation reservation(uint64_t begin, uint32_t bytes) const {
    return LsnScheme::reservation(begin, bytes, stream_.at(begin), sdl());
  }
  Stream& stream() { return stream_; }

 private:
  uint64_t filled(uint32_t) final { return sbl(); }

  Stream stream_;
};

}  // namespace logjam
