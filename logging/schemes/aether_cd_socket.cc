// `aether-cd-socket`: aether-cd with a consolidation array for each socket, so that only groups'
// leaders meet across sockets (Aether, section 7.1). --sockets=N pretends.
//
// Whom a descheduled worker blocks: as in aether-cd; the groups it can lead are of its socket.
#include "logging/schemes/aether.h"

namespace logjam {
namespace {

const SchemeRegistration registration({
    .name = "aether-cd-socket",
    .streams = "1",
    .buffer = "consolidation array per socket, filled in parallel, released in order",
    .sequence = "byte offset (LSN)",
    .flushed_by = "leader or daemon",
    .safe_when = "LSN <= durable",
    .cut = "first gap",
    .source = "Aether 7.1",
    .stream_count = [](uint32_t, const LogConfig&) { return 1u; },
    .make =
        [](const LogConfig& config) {
          return std::make_unique<Aether<ReleaseInOrder>>(config, Consolidate::kBySocket);
        },
});

}  // namespace
}  // namespace logjam
