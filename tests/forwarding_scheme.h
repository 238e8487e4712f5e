// A log scheme that forwards every call to another scheme. Test doubles derive from this class and
// override the calls that matter to their tests.
#pragma once

#include <memory>
#include <string_view>

#include "logging/scheme_registry.h"

namespace logjam {

class ForwardingScheme : public LogScheme {
 public:
  // Forwards to the scheme `none`. Calls that `none` does not support are not forwarded: a derived
  // class overrides them.
  explicit ForwardingScheme(uint32_t workers, const LogTraits& traits = {.logs = false},
                            uint64_t run = 0)
      : LogScheme(LogConfig{.workers = workers, .run = run, .traits = traits}),
        scheme_(find_scheme("none")->make(LogConfig{.workers = workers})) {}

  LogReservation reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    return scheme_->reserve(worker, deps, bytes);
  }
  CommitPoint publish(uint32_t worker, const LogReservation& reservation,
                      RecordRole role) override {
    return scheme_->publish(worker, reservation, role);
  }
  CommitPoint commit_read_only(uint32_t worker, const Dependencies& deps) override {
    return scheme_->commit_read_only(worker, deps);
  }
  bool is_durable(const CommitPoint& point) const override { return scheme_->is_durable(point); }
  void poll(uint32_t worker) override { scheme_->poll(worker); }
  uint32_t flushers() const override { return scheme_->flushers(); }
  void flush(uint32_t flusher, bool stopping) override { scheme_->flush(flusher, stopping); }
  bool idle() const override { return scheme_->idle(); }
  std::vector<uint64_t> durable_positions() const override { return scheme_->durable_positions(); }
  std::vector<uint64_t> published_positions() override { return scheme_->published_positions(); }
  std::vector<uint64_t> durable_sequences() const override { return scheme_->durable_sequences(); }
  uint64_t max_record_bytes() const override { return scheme_->max_record_bytes(); }

 private:
  std::unique_ptr<LogScheme> scheme_;
};

}  // namespace logjam
