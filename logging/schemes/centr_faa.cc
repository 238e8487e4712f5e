// `centr-faa`: LSN by fetch-add, filled bytes counted per I/O unit. The central log that Poplar
// (section 6.1) measures as CENTR: "acquires its LSN using a fetch-add", committed in LSN order.
//
// A worker that is descheduled between reserve and publish holds up the durability of all later
// records, as in `eleda`, and of the earlier ones in the same I/O unit: the count does not say
// where in the unit the hole is. When the ring is full, those who reserve wait too.
#include "logging/buffer/unit_counts.h"
#include "logging/schemes/fetch_add.h"

namespace logjam {
namespace {

const SchemeRegistration registration({
    .name = "centr-faa",
    .streams = "1",
    .buffer = "fetch-add, filled bytes counted per I/O unit",
    .sequence = "byte offset (LSN), fetch-add",
    .flushed_by = "leader or daemon",
    .safe_when = "LSN <= SDL",
    .cut = "first gap",
    .source = "Poplar 6.1",
    .stream_count = [](uint32_t, const LogConfig&) { return 1u; },
    .make = [](const LogConfig& config) { return std::make_unique<FetchAdd<UnitCounts>>(config); },
});

}  // namespace
}  // namespace logjam
