// `ermia`: LSN by fetch-add, and for each worker the end of its last record and a dirty bit, as in
// the log of ERMIA (Kim et al., SIGMOD 2016; the algorithm is from ERMIA's source code).
// Border-Collie's paper compares its log with this one. dirty_ends.h has the proof.
//
// The rule in the source code has an error, which this scheme corrects by one bound. --ack=unsafe
// is the rule as published, which can lose acknowledged transactions.
#include "logging/schemes/common/fetch_add_scheme.h"
#include "logging/schemes/common/scheme_flags.h"
#include "logging/schemes/ermia/dirty_ends.h"

namespace logjam {
namespace {

class Ermia final : public FetchAddScheme<DirtyEnds> {
 public:
  explicit Ermia(const LogConfig& config) : FetchAddScheme(config, !acknowledges_unsafely()) {}
};

const SchemeRegistration registration(fetch_add_scheme({
    .name = "ermia",
    .differs = "without --ack=unsafe, the largest end of clean workers is bounded by the tail; who "
               "asks for SBL looks at the words, and no daemon; a worker that waits for room says "
               "where its hole begins",
    .buffer = "fetch-add + last end and dirty bit per worker",
    .source = "ERMIA's sm-log-alloc",
    .construct = construct<Ermia>,
    .check_flags = check_ack_flag,
    .unsafe = unsafe_ack_flag,
    .flags = {"ack"},
}));

}  // namespace
}  // namespace logjam
