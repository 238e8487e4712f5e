// What all schemes with one stream share. The sequence number is the LSN: a record's is the byte
// offset of its *end*, so that it is never 0 and "LSN <= durable" means that all of it is durable.
// Log order is the order of reserve(), hence a serial order; recovery uses all up to the first gap.
#pragma once

#include <memory>

#include "logging/log_scheme.h"
#include "logging/stream.h"

namespace logjam {

class SingleStream : public LogScheme {
 public:
  Traits traits() const override { return {}; }
  Point observe(uint32_t worker, const Dependencies& deps) override;
  bool is_durable(const Point& point) const override {
    return point.sequence <= stream_->durable();
  }
  void tick(uint32_t) override { stream_->tick(); }
  void flush(uint32_t, bool stopping) override { stream_->flush(stopping); }
  void wait_durable(uint32_t worker, const Point& point) override { stream_->wait(worker, point); }
  bool idle() const override { return stream_->idle(); }
  uint64_t max_record_bytes() const override { return stream_->ring().max_record_bytes(); }
  Cut cut(const std::vector<StreamTail>& tails) const override;
  bool survives(const RecordHeader&, uint32_t, const Cut&) const override { return true; }
  Counters counters() const override { return stream_->counters(); }

 protected:
  explicit SingleStream(const LogConfig& config, uint64_t max_write_bytes = Stream::kMaxWriteBytes);

  // Up to where the ring is filled without a hole (Aether's released, ELEDA's SBL).
  virtual uint64_t filled() const = 0;

  Ticket ticket(uint64_t begin, uint32_t bytes) const {
    return {.sequence = begin + bytes,
            .position = begin,
            .hole = stream_->at(begin),
            .bytes = bytes,
            .stream = 0};
  }
  Stream& stream() { return *stream_; }

 private:
  std::unique_ptr<Stream> stream_;  // none when recovering
};

}  // namespace logjam
