// `aether-c`: inserts that find the log's lock busy are consolidated; the lock is held until the
// whole group is filled (Aether, section 5.1).
//
// Whom a descheduled worker blocks. Between reserve and publish: every other insert, as in `centr`,
// but for members of its own group, which fill their parts and go on; it releases the lock for
// them. While it leads a group that waits for the lock: that group's members, nobody else.
#include "logging/schemes/aether.h"

namespace logjam {
namespace {

const SchemeRegistration registration({
    .name = "aether-c",
    .streams = "1",
    .buffer = "consolidation array; lock held while filling",
    .sequence = "byte offset (LSN)",
    .flushed_by = "leader or daemon",
    .safe_when = "LSN <= durable",
    .cut = "first gap",
    .source = "Aether Alg. 2, 4",
    .stream_count = [](uint32_t, const LogConfig&) { return 1u; },
    .make =
        [](const LogConfig& config) {
          return std::make_unique<Aether<ReleaseUnderLock>>(config, Consolidate::kTogether);
        },
});

}  // namespace
}  // namespace logjam
