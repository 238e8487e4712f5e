// A log without flusher threads. A test runs on one thread and calls flush() for each stream, so it
// decides the interleaving.
#pragma once

#include <memory>
#include <vector>

#include "tests/logging/log_fixture.h"
#include "tests/scoped_flags.h"

namespace logjam {

class ScriptedLog : public testing::Test {
 protected:
  // Closes the current log, if there is one, and opens a log with `options_`.
  void open() {
    log_.reset();  // close the log before its files are opened again
    log_ = std::make_unique<Log>(options_);
  }

  LogScheme& scheme() { return log_->scheme(); }
  uint32_t streams() { return log_->streams(); }
  double counter(const char* name) { return scheme().counters().value(name); }

  Published publish(uint32_t worker, const Dependencies& deps = {}) {
    return publish_record(*log_, worker, ++txn_, 64, deps);
  }
  CommitPoint fill(uint32_t worker, const LogReservation& open) {
    fill_record(open, log_->run(), ++txn_);
    return scheme().publish(worker, open, RecordRole::kCommit);
  }
  // Does all work that the stream's flusher would now do.
  void flush(uint32_t stream) {
    for (int i = 0; i < 3; ++i) scheme().flush(stream, true);
  }
  void flush_all() {
    for (uint32_t s = 0; s < streams(); ++s) flush(s);
  }

  bool durable(const CommitPoint& point) { return scheme().is_durable(point); }
  bool durable(const Published& one) { return durable(one.point); }

  // Returns the streams' tails that a recovery would now find.
  std::vector<StreamTail> tails() {
    std::vector<StreamTail> tails;
    for (uint32_t s = 0; s < streams(); ++s) {
      tails.push_back(read_log(stream_file(options_, s)).tail);
    }
    return tails;
  }
  Cut cut() { return options_.scheme->recovery.cut(tails()); }
  bool survives(const Published& one, uint8_t flags = 0) {
    RecordHeader header{};
    header.sequence = one.sequence;
    header.flags = one.flags | flags;
    const Cut now = cut();
    const ReadLog log = read_log(stream_file(options_, one.stream));
    const auto at = log.find(one);
    return at != log.records.end() && at->first + one.bytes <= now.bytes[one.stream] &&
           options_.scheme->recovery.survives(header, now);
  }

  LogDirectory directory_;
  ScopedFlags flags_;
  LogOptions options_;
  std::unique_ptr<Log> log_;
  uint64_t txn_ = 0;
};

}  // namespace logjam
