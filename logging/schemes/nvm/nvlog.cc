// `nvlog`: a log for each worker, on NVM, and one LSN over all logs (NV-Logging, Huang et al., as
// Poplar describes it in section 3.3).
//
// LSN: 1, 2, 3, ... by fetch-add. Transactions commit in total LSN order: a transaction is safe
// when the records of all logs with LSNs up to its LSN are durable. per_worker_scheme.h has the
// cut, and why it keeps R1 to R5.
//
// Protocol. A worker adds to next_ (acq_rel) after it has stored the bound for its next number. A
// thread that has loaded a published number (acquire) sees the bounds of all smaller numbers, or
// newer values. So nvlog does not need the floor.
#include "logging/schemes/nvm/per_worker_scheme.h"

namespace logjam {
namespace {

class NvLog final : public PerWorkerScheme {
 public:
  using PerWorkerScheme::PerWorkerScheme;

  LogReservation reserve(uint32_t worker, const Dependencies&, uint32_t bytes) override {
    return open(worker, bytes, next_.load(platform::memory_order_relaxed),
                [this] { return next_.fetch_add(1, platform::memory_order_acq_rel); });
  }

 private:
  alignas(platform::kCacheLine) platform::atomic<uint64_t> next_{1};
};

const SchemeRegistration registration(per_worker_scheme(
    "LSN",
    {
        .name = "nvlog",
        .differs =
            "the group commit number is persisted as a watermark record, which recovery needs "
            "to see damage, so a synchronous commit makes two writes, one after the other; made "
            "from what Poplar says of it",
        .sequence = "global LSN, fetch-add",
        .safe_when = "all LSNs up to its own durable",
        .cut = "last watermark of the group commit that is met",
        .source = "NV-Logging; Poplar 3.3",
        .traits = {.fills_device_memory = true},
        .construct = construct<NvLog>,
    }));

}  // namespace
}  // namespace logjam
