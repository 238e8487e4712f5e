// `fasterlog`: LSN by fetch-add, and epochs in place of a list of holes, as in FasterLog, the log
// of FASTER and of Garnet's append-only file (Chandramouli et al., FASTER, SIGMOD 2018).
// epoch_slots.h has the algorithm and its proof.
//
// Only an advance of SBL writes the epoch's cache line. The price is that SBL moves later than with
// a list of holes. An advance waits for every worker in an older epoch, even if the worker's hole
// lies after the read-only address. And a record that is filled during an advance waits for the
// next advance.
#include "logging/schemes/common/fetch_add_scheme.h"
#include "logging/schemes/fasterlog/epoch_slots.h"

namespace logjam {
namespace {

const SchemeRegistration registration(fetch_add_scheme({
    .name = "fasterlog",
    .differs = "who asks for SBL raises the epoch and drains it, where workers drain it, too, as "
               "they enter; one ring for pages; a worker that waits for room keeps its hole, where "
               "FASTER's draws again",
    .buffer = "fetch-add + epochs: SBL advances when the older epoch is drained",
    .source = "FASTER's FasterLog, Garnet",
    .construct = construct<FetchAddScheme<EpochSlots>>,
}));

}  // namespace
}  // namespace logjam
