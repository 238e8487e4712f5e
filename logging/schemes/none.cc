// `none`: no log and no durability. It shows the cost of a transaction without a log.
//
// A tuple's version must grow with every write, so there is a sequence number. As with Silo's TIDs,
// it is larger than the numbers that the transaction depends on and than the worker's last number.
// It does not come from a shared counter, which would add a cost of logging.
#include "logging/scheme_registry.h"
#include "logging/schemes/common/worker_states.h"

namespace logjam {
namespace {

class None final : public LogScheme {
 public:
  explicit None(const LogConfig& config) : LogScheme(config), last_(config.workers) {}

  LogReservation reserve(uint32_t worker, const Dependencies& deps, uint32_t) override {
    uint64_t& last = last_[worker];
    last = std::max(last, deps.max_number()) + 1;
    return {.sequence = last};
  }
  CommitPoint publish(uint32_t, const LogReservation&, RecordRole) override { return {}; }
  CommitPoint commit_read_only(uint32_t, const Dependencies&) override { return {}; }
  bool is_durable(const CommitPoint&) const override { return true; }
  void poll(uint32_t) override {}
  uint32_t flushers() const override { return 0; }
  void flush(uint32_t, bool) override LJ_REQUIRES(platform::log_role) {}
  bool idle() const override { return true; }
  uint64_t max_record_bytes() const override { return ~uint64_t{0}; }

 private:
  WorkerStates<uint64_t> last_;
};

const SchemeRegistration registration({
    .name = "none",
    .streams = "0",
    .buffer = "-",
    .sequence = "1 + largest depended on",
    .flushed_by = "-",
    .safe_when = "at once (no durability)",
    .cut = "-",
    .traits = {.logs = false},
    .stream_count = [](uint32_t, const LogConfig&) { return 0u; },
    .construct = construct<None>,
});

}  // namespace
}  // namespace logjam
