// `nvmd`: a log for each worker, persisted by the worker, and numbers that grow along dependencies
// and no further (NVM-D: Wang and Johnson, VLDB 2014, as Poplar describes it in 3.3 and compares
// with it in 6).
//
// GSN = max(what is read, what is overwritten, who read what is overwritten, the worker's last)
// + 1. Safe when GSN <= that of the passive group commit, which is logging/schemes/private_logs.h,
// with the cut, why it keeps R1 to R5, and whom a descheduled worker blocks.
//
// Write-after-read: committing writers stamp each tuple that they read (read_stamps.h), at a cost
// for each, which is what Poplar's Fig. 10 is about. R1 to R4 do not need the stamps, and no test
// of theirs can miss them: R1 and R4 ask for what a transaction has read, which has a smaller
// number anyhow; R3 for the order of a tuple's writers. One that overwrites what T has read depends
// on nothing of T's: if it is recovered and T is not, the state is as if T had never been. What
// they buy is that numbers are a serialization order.
//
// Protocol. `last_` of a worker is its own.
#include "logging/read_stamps.h"
#include "logging/schemes/private_logs.h"

namespace logjam {
namespace {

class NvmD final : public PrivateLogs {
 public:
  explicit NvmD(const LogConfig& config) : PrivateLogs(config), last_(config.workers) {}

  Traits traits() const override {
    return {.streams = streams(),
            .flushers = streams(),
            .serial_order = false,
            .sequence_before_validation = true,
            .unsafe = ""};
  }
  ReadStamps* read_stamps() override { return &stamps_; }

  Ticket reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    uint64_t& last = *last_[worker];
    const uint64_t least = std::max({deps.max_read, deps.max_overwritten, deps.max_war, last}) + 1;
    return open(worker, bytes, least, [&] { return last = std::max(least, floor() + 1); });
  }

 private:
  std::vector<platform::Padded<uint64_t>> last_;  // GSN
  ReadStamps stamps_;
};

const SchemeRegistration registration({
    .name = "nvmd",
    .streams = "1 per worker, 1 of marks",
    .buffer = "private",
    .sequence = "GSN: over reads, overwrites, readers",
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
