// `aether-cde`: aether-cd, and who would wait to release delegates it (Aether, section 5.2, A.6).
//
// Whom a descheduled worker blocks. Holding the lock: every insert. Leading a group that waits for
// the lock or was not told its region: that group's members. Between reserve and publish, or in the
// midst of releasing for others: nobody but the 1 in 32 that breaks the treadmill, until the
// release queue (1024 nodes) or the ring is full. Commits behind it are not durable, though.
#include "logging/schemes/aether.h"

namespace logjam {
namespace {

const SchemeRegistration registration({
    .name = "aether-cde",
    .streams = "1",
    .buffer = "consolidation array, filled in parallel, release delegated",
    .sequence = "byte offset (LSN)",
    .flushed_by = "leader or daemon",
    .safe_when = "LSN <= durable",
    .cut = "first gap",
    .source = "Aether Alg. 5, A.6",
    .stream_count = [](uint32_t, const LogConfig&) { return 1u; },
    .make =
        [](const LogConfig& config) {
          return std::make_unique<Aether<ReleaseQueue>>(config, Consolidate::kTogether);
        },
});

}  // namespace
}  // namespace logjam
