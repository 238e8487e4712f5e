// `centr-faa`: LSN by fetch-add, filled bytes counted per I/O unit: the central log that Poplar
// (section 6.1) measures as CENTR.
#include "logging/schemes/common/unit_counts.h"

namespace logjam {
namespace {

const SchemeRegistration registration(fetch_add_scheme({
    .name = "centr-faa",
    .differs = "while a hole is open, SBL stops at units of 64 KiB",
    .buffer = "fetch-add, filled bytes counted per I/O unit",
    .source = "Poplar 6.1",
    .construct = construct<UnitCountScheme>,
}));

}  // namespace
}  // namespace logjam
