// `aether-cd`: consolidation, and filling outside the log's lock (Aether, section 5.3).
//
// Whom a descheduled worker blocks. Holding the lock: every insert. Leading a group that waits for
// the lock or was not told its region: that group's members. Between reserve and publish: the last
// to leave of every later group, in publish; its own group's members leave the release to it.
#include "logging/schemes/aether.h"

namespace logjam {
namespace {

const SchemeRegistration registration({
    .name = "aether-cd",
    .streams = "1",
    .buffer = "consolidation array, filled in parallel, released in order",
    .sequence = "byte offset (LSN)",
    .flushed_by = "leader or daemon",
    .safe_when = "LSN <= durable",
    .cut = "first gap",
    .source = "Aether 5.3",
    .stream_count = [](uint32_t, const LogConfig&) { return 1u; },
    .make =
        [](const LogConfig& config) {
          return std::make_unique<Aether<ReleaseInOrder>>(config, Consolidate::kTogether);
        },
});

}  // namespace
}  // namespace logjam
