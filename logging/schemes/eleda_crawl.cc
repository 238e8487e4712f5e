// `eleda-crawl`: `eleda` without hopping, hence without h-lists and H-index (ELEDA, section 6.5.4).
// Whom a descheduled worker blocks: as in `eleda`.
#include "logging/buffer/grasshopper.h"
#include "logging/schemes/fetch_add.h"

namespace logjam {
namespace {

const SchemeRegistration registration({
    .name = "eleda-crawl",
    .streams = "1",
    .buffer = "fetch-add + grasshopper that only crawls",
    .sequence = "byte offset (LSN), fetch-add",
    .flushed_by = "grasshopper worker or who asks, then leader or daemon",
    .safe_when = "LSN <= SDL",
    .cut = "first gap",
    .source = "ELEDA 6.5.4",
    .stream_count = [](uint32_t, const LogConfig&) { return 1u; },
    .make =
        [](const LogConfig& config) {
          return std::make_unique<FetchAdd<Grasshopper<false>>>(config, config.io_unit_bytes);
        },
});

}  // namespace
}  // namespace logjam
