// `nvmd`: a log for each worker, which the worker persists, and numbers that grow along
// dependencies only (NVM-D: Wang and Johnson, VLDB 2014, as described in Poplar 3.3 and 6).
//
// GSN = 1 + the maximum of four numbers: the largest number that the transaction reads, the largest
// number that it overwrites, the largest number of a transaction that has read an overwritten
// version, and the worker's last number. A transaction is safe when its GSN <= the GSN of the
// passive group commit. per_worker_scheme.h has the commit, the cut, and the proof of R1 to R5.
//
// Write-after-read. Committing writers stamp each tuple that they read (read_stamps.h). Poplar's
// Fig. 10 shows the cost of these stamps. The stamps make the numbers a serialization order, which
// R1 to R4 do not need. R1 and R4 are about the versions that a transaction has read, which have
// smaller numbers in any case. R3 is about the order of a tuple's writers. If U overwrites a
// version that T has read, U may be recovered without T, as if T had never existed.
#include "logging/read_stamps.h"
#include "logging/schemes/nvm/per_worker_scheme.h"

namespace logjam {
namespace {

class NvmD final : public PerWorkerScheme {
 public:
  explicit NvmD(const LogConfig& config) : PerWorkerScheme(config), last_(config.workers) {}

  CommitParts parts() override { return {.read_stamps = &stamps_}; }

  LogReservation reserve(uint32_t worker, const Dependencies& deps, uint32_t bytes) override {
    uint64_t& last = last_[worker];
    const uint64_t least = std::max({deps.max_number(), deps.max_war, last}) + 1;
    return open(worker, bytes, least, [&] { return last = std::max(least, floor() + 1); });
  }

 private:
  WorkerStates<uint64_t> last_;  // the last GSN of each worker
  ReadStamps stamps_;
};

const SchemeRegistration registration(per_worker_scheme(
    "GSN",
    {
        .name = "nvmd",
        .differs =
            "the group commit number is persisted as a watermark record, which recovery needs "
            "to see damage, so a synchronous commit makes two writes, one after the other; read "
            "stamps lie in a hashed table, not in the tuples; made from what Poplar says of it",
        .sequence = "GSN: over reads, overwrites, readers",
        .safe_when = "GSN <= passive group commit's",
        .cut = "last watermark of the group commit that is met",
        .source = "NVM-D; Poplar 3.3, 6",
        .traits = {.number_drawn = NumberDrawn::kBefore, .fills_device_memory = true},
        .construct = construct<NvmD>,
    }));

}  // namespace
}  // namespace logjam
