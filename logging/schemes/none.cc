// `none`: no log, no durability. What a transaction costs without it.
//
// A tuple's version must grow with every write, so there is a sequence number. It is one more than
// all the transaction depends on and than this worker's last, as Silo makes its TIDs, and not drawn
// from a counter that all workers share: that would be a cost of logging which this scheme is there
// not to have.
#include <algorithm>

#include "logging/log_scheme.h"

namespace logjam {
namespace {

class None final : public LogScheme {
 public:
  explicit None(const LogConfig& config) : LogScheme(config.workers), last_(config.workers) {}

  Traits traits() const override {
    return {.streams = 0, .flushers = 0, .serial_order = false, .logs = false, .unsafe = ""};
  }
  Ticket reserve(uint32_t worker, const Dependencies& deps, uint32_t) override {
    uint64_t& last = *last_[worker];
    last = std::max({last, deps.max_read, deps.max_overwritten}) + 1;
    return {.sequence = last};
  }
  Point publish(uint32_t, const Ticket&, bool, bool) override { return {}; }
  Point observe(uint32_t, const Dependencies&) override { return {}; }
  bool is_durable(const Point&) const override { return true; }
  void tick(uint32_t) override {}
  void flush(uint32_t, bool) override {}
  bool idle() const override { return true; }
  uint64_t max_record_bytes() const override { return ~uint64_t{0}; }
  Cut cut(const std::vector<StreamTail>&) const override { return {.bytes = {}, .why = "no log"}; }
  bool survives(const RecordHeader&, uint32_t, const Cut&) const override { return false; }

 private:
  std::vector<platform::Padded<uint64_t>> last_;
};

const SchemeRegistration registration({
    .name = "none",
    .streams = "0",
    .buffer = "-",
    .sequence = "1 + largest depended on",
    .flushed_by = "-",
    .safe_when = "at once (no durability)",
    .cut = "-",
    .source = "",
    .stream_count = [](uint32_t, const LogConfig&) { return 0u; },
    .make = [](const LogConfig& config) { return std::make_unique<None>(config); },
});

}  // namespace
}  // namespace logjam
