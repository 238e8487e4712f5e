// What all schemes share that put LSN-numbered records into the ring of one Stream, for a leader or
// the daemon to flush.
#pragma once

#include <memory>

#include "logging/schemes/lsn_scheme.h"
#include "logging/stream.h"

namespace logjam {

class SingleStream : public LsnScheme {
 public:
  bool is_durable(const Point& point) const override {
    return point.sequence <= stream_->durable();
  }
  void tick(uint32_t) override { stream_->tick(); }
  void flush(uint32_t, bool stopping) override { stream_->flush(stopping); }
  void wait_durable(uint32_t worker, const Point& point) override { stream_->wait(worker, point); }
  bool idle() const override { return stream_->idle(); }
  uint64_t max_record_bytes() const override { return stream_->ring().max_record_bytes(); }
  Counters counters() const override { return stream_->counters(); }

 protected:
  explicit SingleStream(const LogConfig& config, uint64_t max_write_bytes = Stream::kMaxWriteBytes);

  // Up to where the ring is filled without a hole (Aether's released, ELEDA's SBL).
  virtual uint64_t filled() const = 0;

  Ticket ticket(uint64_t begin, uint32_t bytes) const {
    return LsnScheme::ticket(begin, bytes, stream_->at(begin));
  }
  Stream& stream() { return *stream_; }

 private:
  std::unique_ptr<Stream> stream_;  // none when recovering
};

}  // namespace logjam
