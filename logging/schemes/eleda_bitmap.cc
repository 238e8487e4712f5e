// `eleda-bitmap`: `eleda` with a bit for each byte and a linear scan in place of the grasshopper:
// the strawman of ELEDA, section 6.5.4. Whom a descheduled worker blocks: as in `eleda`.
#include "logging/buffer/bitmap.h"
#include "logging/schemes/fetch_add.h"

namespace logjam {
namespace {

const SchemeRegistration registration({
    .name = "eleda-bitmap",
    .streams = "1",
    .buffer = "fetch-add + linear scan of a bitmap",
    .sequence = "byte offset (LSN), fetch-add",
    .flushed_by = "scanning thread or who asks, then leader or daemon",
    .safe_when = "LSN <= SDL",
    .cut = "first gap",
    .source = "ELEDA 6.5.4",
    .stream_count = [](uint32_t, const LogConfig&) { return 1u; },
    .make =
        [](const LogConfig& config) {
          return std::make_unique<FetchAdd<Bitmap>>(config, config.io_unit_bytes);
        },
});

}  // namespace
}  // namespace logjam
