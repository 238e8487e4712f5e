// `command`: the log holds what transactions were asked to do instead of what they wrote, and
// recovery does it again (the logical logging of H-Store; Poplar, section 7). The buffer is that of
// `centr-faa`.
//
// Log order must be the serialization order. Under two-phase locking it is: the LSN is drawn while
// all locks are held. Under OCC it is if drawn before reads are validated: let T read what U then
// overwrites, and both commit. T's validation, behind its draw, did not see U's write lock, and U
// takes its lock before it draws. Had U drawn first, T's draw would have acquired what U's released
// (fetch_add.h), and T's validation would have seen the lock. Index nodes show U's inserts before
// it takes that lock (occ.cc).
#include "logging/buffer/unit_counts.h"
#include "logging/schemes/fetch_add.h"

namespace logjam {
namespace {

class Command final : public FetchAdd<UnitCounts> {
 public:
  using FetchAdd::FetchAdd;

  Traits traits() const override {
    Traits traits = FetchAdd::traits();
    traits.sequence_before_validation = true;
    traits.commands = true;
    return traits;
  }
};

const SchemeRegistration registration({
    .name = "command",
    .streams = "1",
    .buffer = "fetch-add, of types and inputs instead of values",
    .sequence = "byte offset (LSN), before validation",
    .flushed_by = "leader or daemon",
    .safe_when = "LSN <= SDL",
    .cut = "first gap, then re-executed in order",
    .source = "H-Store",
    .stream_count = [](uint32_t, const LogConfig&) { return 1u; },
    .make = [](const LogConfig& config) { return std::make_unique<Command>(config); },
});

}  // namespace
}  // namespace logjam
