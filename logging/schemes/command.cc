// `command`: the log holds the commands of transactions instead of their writes, and recovery
// executes the commands again (H-Store; Poplar, section 7). The buffer is that of `centr-faa`.
//
// Log order must be the serialization order. Under two-phase locking it is, because the LSN is
// drawn while all locks are held. Under OCC it is, because the LSN is drawn before reads are
// validated: let T read a row that U then overwrites, and let both commit. T validates after its
// draw. T did not see U's write lock, and U takes this lock before it draws. If U had drawn first,
// T's draw would have acquired what U's draw released (fetch_add_scheme.h), and T's validation
// would have seen the lock. So T draws first. For inserts the index nodes replace the lock: they
// show U's inserts before U takes its write locks (occ.cc).
#include "logging/schemes/common/unit_counts.h"

namespace logjam {
namespace {

const SchemeRegistration registration(fetch_add_scheme({
    .name = "command",
    .buffer = "fetch-add, of types and inputs instead of values",
    .sequence = "byte offset (LSN), before validation",
    .cut = "first gap, then re-executed in order",
    .source = "H-Store",
    .traits = {.number_drawn = NumberDrawn::kBefore, .commands = true},
    .construct = construct<UnitCountScheme>,
}));

}  // namespace
}  // namespace logjam
