// `eleda`: LSN by fetch-add, holes tracked by a grasshopper that hops and crawls. ELEDA, section 4.
//
// A worker that is descheduled between reserve and publish holds up the durability of all later
// records, and in the end, when the ring is full, those who reserve; nobody who fills or publishes.
// Before a worker reserves it waits if SBL is 262144 of its own records behind. Who advances SBL
// and is descheduled holds up acknowledgements, until it runs again, and nothing else.
#include "logging/buffer/grasshopper.h"
#include "logging/schemes/fetch_add.h"

namespace logjam {
namespace {

const SchemeRegistration registration({
    .name = "eleda",
    .streams = "1",
    .buffer = "fetch-add + grasshopper: hops and crawls",
    .sequence = "byte offset (LSN), fetch-add",
    .flushed_by = "grasshopper worker or who asks, then leader or daemon",
    .safe_when = "LSN <= SDL",
    .cut = "first gap",
    .source = "ELEDA Alg. 1",
    .stream_count = [](uint32_t, const LogConfig&) { return 1u; },
    .make =
        [](const LogConfig& config) {
          return std::make_unique<FetchAdd<Grasshopper<true>>>(config, config.io_unit_bytes);
        },
});

}  // namespace
}  // namespace logjam
