// `border-collie-d`: Border-Collie's decentralized variant (Kim et al., SIGMOD 2019): a log for
// each worker, a clock in place of the shared sequencer, and a boundary computed from all workers'
// flags. nvm/per_worker_scheme.h has the logs, the boundary, the cut, and the proof of R1 to R5.
//
// Stamp. The processor's clock, which is the same on all cores (invariant TSC). A stamp is larger
// than the stamps of the rows that the transaction reads and overwrites, than the worker's last
// stamp, and than the floor. If the clock is not larger than these numbers (the paper's hasty log),
// the stamp is one more than the largest of them. So stamps grow along dependencies, even if clocks
// differ.
//
// Before a worker takes its stamp, it announces the clock as a bound (its flag is black). A worker
// without an open record is white, and counts as the cutoff: it delays nobody.
#include "logging/schemes/nvm/per_worker_scheme.h"

namespace logjam {
namespace {

class Decentralized final : public PerWorkerScheme {
 public:
  explicit Decentralized(const LogConfig& config)
      : PerWorkerScheme(config), last_(config.workers) {}

  LogReservation reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    uint64_t& last = last_[worker];
    const uint64_t least = std::max(deps.max_number(), last) + 1;
    const uint64_t bound = std::max(least, platform::ticks());
    return open(worker, bytes, bound, [&] { return last = std::max(bound, floor() + 1); });
  }

 private:
  WorkerStates<uint64_t> last_;  // the last stamp of each worker
};

const SchemeRegistration registration(per_worker_scheme(
    "stamp",
    {
        .name = "border-collie-d",
        .differs =
            "made from the paper's abstract, so nobody has compared the algorithms, and the row "
            "ranks ours alone; each worker flushes its own log; the boundary is persisted as "
            "a watermark record, so a synchronous commit makes two writes, one after the "
            "other",
        .sequence = "clock, over reads and overwrites",
        .safe_when = "stamp <= the boundary",
        .cut = "last watermark of the boundary that is met",
        .source = "Kim et al. 2019",
        .construct = construct<Decentralized>,
    }));

}  // namespace
}  // namespace logjam
