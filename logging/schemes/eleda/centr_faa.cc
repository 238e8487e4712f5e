// `centr-faa`: LSN by fetch-add, filled bytes counted per I/O unit. It is the central log that
// Poplar (section 6.1) measures as CENTR: "acquires its LSN using a fetch-add", committed in LSN
// order.
//
// A worker that is descheduled between reserve and publish delays the durability of all later
// records, as in `eleda`. It also delays the earlier records in the same I/O unit, because the
// count does not say where in the unit the hole is. When the ring is full, workers that reserve
// wait too.
#include "logging/scheme_registry.h"
#include "logging/schemes/common/unit_count_scheme.h"

namespace logjam {
namespace {

const SchemeRegistration registration({
    .name = "centr-faa",
    .differs = "while a hole is open, SBL stops at units of 64 KiB",
    .streams = "1",
    .buffer = "fetch-add, filled bytes counted per I/O unit",
    .sequence = "byte offset (LSN), fetch-add",
    .flushed_by = "leader or daemon",
    .safe_when = "LSN <= SDL",
    .cut = "first gap",
    .source = "Poplar 6.1",
    .recovery = first_gap(),
    .stream_count = one_stream,
    .construct = construct<UnitCountScheme>,
});

}  // namespace
}  // namespace logjam
