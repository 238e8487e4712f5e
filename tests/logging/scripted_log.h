// A log whose flushers do not run: interleavings become scripts on one thread, which says when each
// stream is flushed.
#pragma once

#include <memory>
#include <vector>

#include "tests/logging/log_fixture.h"

namespace logjam {

class ScriptedLog : public testing::Test {
 protected:
  // The log of `options_`, in place of the one there is.
  void open() {
    log_.reset();  // before another opens its files
    log_ = std::make_unique<Log>(options_);
  }

  LogScheme& scheme() { return log_->scheme(); }
  uint32_t streams() { return scheme().traits().streams; }
  double counter(const char* name) { return scheme().counters().value(name); }

  Published publish(uint32_t worker, const Dependencies& deps = {}) {
    return publish_record(*log_, worker, ++txn_, 64, deps);
  }
  // What was reserved by hand.
  Point fill(uint32_t worker, const Ticket& open) {
    fill_record(open, log_->run(), ++txn_);
    return scheme().publish(worker, open, true, true);
  }
  // All that the stream's own flusher would do.
  void flush(uint32_t stream) {
    for (int i = 0; i < 3; ++i) scheme().flush(stream, true);
  }
  void flush_all() {
    for (uint32_t s = 0; s < streams(); ++s) flush(s);
  }

  bool durable(const Point& point) { return scheme().is_durable(point); }
  bool durable(const Published& one) { return durable(one.point); }

  // What a recovery would find, and use, now.
  std::vector<StreamTail> tails() {
    std::vector<StreamTail> tails;
    for (uint32_t s = 0; s < streams(); ++s) {
      tails.push_back(read_log(stream_file(options_, s)).tail);
    }
    return tails;
  }
  Cut cut() { return scheme().cut(tails()); }
  bool survives(const Published& one, uint8_t flags = 0) {
    RecordHeader header{};
    header.sequence = one.sequence;
    header.flags = flags;
    const Cut now = cut();
    return one.position + one.bytes <= now.bytes[one.stream] &&
           scheme().survives(header, one.stream, now);
  }

  LogDirectory directory_;
  LogOptions options_;
  std::unique_ptr<Log> log_;
  uint64_t txn_ = 0;
};

}  // namespace logjam
