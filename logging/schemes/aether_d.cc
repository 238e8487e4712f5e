// `aether-d`: the log's lock is held only to acquire buffer space; regions are filled at the same
// time, and released in LSN order (Aether, section 5.2).
//
// Whom a descheduled worker blocks. Holding the lock: every insert. Between reserve and publish:
// those with larger LSNs, in publish, until it has released; and so all, in the end. Waiting in
// publish for its turn: the same.
#include "logging/schemes/aether.h"

namespace logjam {
namespace {

const SchemeRegistration registration({
    .name = "aether-d",
    .streams = "1",
    .buffer = "lock to acquire, filled in parallel, released in order",
    .sequence = "byte offset (LSN)",
    .flushed_by = "leader or daemon",
    .safe_when = "LSN <= durable",
    .cut = "first gap",
    .source = "Aether Alg. 3",
    .stream_count = [](uint32_t, const LogConfig&) { return 1u; },
    .make =
        [](const LogConfig& config) {
          return std::make_unique<Aether<ReleaseInOrder>>(config, Consolidate::kNever);
        },
});

}  // namespace
}  // namespace logjam
