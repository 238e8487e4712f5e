// `nvlog`: a log for each worker, on NVM, and one LSN over all of them (NV-Logging, Huang et al.,
// as Poplar sums it up in section 3.3: decentralised buffers, "a total LSN to track the order of
// log records and the commit order of transactions").
//
// LSN: 1, 2, 3, ... by fetch-add. What a transaction has read or overwritten was numbered before
// it. Safe when all LSNs up to its own are durable, in whatever log; in total LSN order, then. The
// cut, why that keeps R1 to R5, and whom a descheduled worker blocks:
// logging/schemes/private_logs.h.
//
// Protocol. next_ is added to (acq_rel) behind the bound for the number to come. Who has loaded a
// number that was published (acquire) sees the bounds of all smaller ones, or something newer:
// read-modify-writes continue each other's release. The floor is not needed.
#include "logging/schemes/private_logs.h"

namespace logjam {
namespace {

class NvLog final : public PrivateLogs {
 public:
  using PrivateLogs::PrivateLogs;

  Traits traits() const override {
    return {.streams = streams(), .flushers = streams(), .serial_order = false, .unsafe = ""};
  }

  Ticket reserve(uint32_t worker, const Dependencies&, uint32_t bytes) override {
    return open(worker, bytes, next_.load(platform::memory_order_relaxed),
                [this] { return next_.fetch_add(1, platform::memory_order_acq_rel); });
  }

 private:
  alignas(platform::kCacheLine) platform::atomic<uint64_t> next_{1};
};

const SchemeRegistration registration({
    .name = "nvlog",
    .streams = "1 per worker, 1 of marks",
    .buffer = "private",
    .sequence = "global LSN, fetch-add",
    .flushed_by = "each worker its own; daemons",
    .safe_when = "all LSNs up to its own durable",
    .cut = "last mark of the group commit",
    .source = "NV-Logging; Poplar 3.3",
    .stream_count = [](uint32_t,
                       const LogConfig& config) { return PrivateLogs::stream_count(config); },
    .make = [](const LogConfig& config) { return std::make_unique<NvLog>(config); },
});

}  // namespace
}  // namespace logjam
