// `nvmd`: a log for each worker, persisted by the worker, and numbers that grow along dependencies
// and no further (NVM-D: Wang and Johnson, VLDB 2014, as Poplar describes it in 3.3 and compares
// with it in 6).
//
// GSN = max(what is read, what is overwritten, the worker's last) + 1. Safe when GSN <= that of the
// passive group commit, which is logging/schemes/private_logs.h, with the cut, why it keeps R1 to
// R5, and whom a descheduled worker blocks.
//
// NVM-D's GSN also grows along write-after-read: a transaction stamps the tuples that it read. This
// one does not stamp, so it is cheaper than NVM-D on long scans, and says so. R1 to R4 do not need
// it. R1 and R4 ask for what a transaction has read, which has a smaller number; R3 for the order
// of writers of a tuple, which have growing numbers. One that overwrites what T has read depends on
// nothing of T's: if it is recovered and T is not, the state is as if T had never been.
// (The version word cannot take the stamp: it is its last writer's number. Raised by a reader it
// would fail the validation of others under OCC.)
//
// Protocol. `last_` of a worker is its own.
#include "logging/schemes/private_logs.h"

namespace logjam {
namespace {

class NvmD final : public PrivateLogs {
 public:
  explicit NvmD(const LogConfig& config) : PrivateLogs(config), last_(config.workers) {}

  Traits traits() const override {
    return {.streams = streams(), .flushers = streams(), .serial_order = false, .unsafe = ""};
  }

  Ticket reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    uint64_t& last = *last_[worker];
    const uint64_t least = std::max({deps.max_read, deps.max_overwritten, last}) + 1;
    return open(worker, bytes, least, [&] { return last = std::max(least, floor() + 1); });
  }

 private:
  std::vector<platform::Padded<uint64_t>> last_;  // GSN
};

const SchemeRegistration registration({
    .name = "nvmd",
    .streams = "1 per worker, 1 of marks",
    .buffer = "private",
    .sequence = "GSN: over reads, overwrites, worker",
    .flushed_by = "each worker its own; daemons",
    .safe_when = "GSN <= passive group commit's",
    .cut = "last mark of the group commit",
    .source = "NVM-D; Poplar 3.3, 6",
    .stream_count = [](uint32_t,
                       const LogConfig& config) { return PrivateLogs::stream_count(config); },
    .make = [](const LogConfig& config) { return std::make_unique<NvmD>(config); },
});

}  // namespace
}  // namespace logjam
