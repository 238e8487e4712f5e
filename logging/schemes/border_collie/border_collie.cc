// `border-collie`: LSN by fetch-add, and a flag for each worker. A thread that asks for SBL
// *herds*: it computes SBL from the flags (Kim et al., Border-Collie, SIGMOD 2019, the centralized
// variant). herd_flags.h has the algorithm, and proves R1 and R5.
//
// Herding is wait-free: the thread reads one word for each worker, and no list of records.
#include "logging/schemes/border_collie/herd_flags.h"
#include "logging/schemes/common/fetch_add_scheme.h"

namespace logjam {
namespace {

const SchemeRegistration registration(fetch_add_scheme({
    .name = "border-collie",
    .differs =
        "made from the paper's abstract, so nobody has compared the algorithms, and the row ranks "
        "ours alone; no thread only herds: who asks for SBL does, one at a time; a worker that "
        "waits for room says where its hole begins",
    .buffer = "fetch-add + a flag per worker: black or white, and an LSN",
    .source = "Border-Collie, centralized",
    .construct = construct<FetchAddScheme<HerdFlags>>,
}));

}  // namespace
}  // namespace logjam
