#include "logging/schemes/common/acknowledgement.h"

#include <gflags/gflags.h>

#include "logging/flag_checks.h"

DEFINE_string(
    ack, "safe",
    "when ermia, pwal, rfa and scm acknowledge; safe: all that a transaction may have read "
    "from is durable; unsafe: as published (pwal, scm: after the worker's own flush; "
    "ermia: SBL may pass a hole; rfa: reads from the own log count as local)");

namespace logjam {

bool acknowledges_unsafely() { return FLAGS_ack == "unsafe"; }

std::string check_ack_flag() { return check_one_of("ack", FLAGS_ack, "safe", "unsafe"); }

std::string unsafe_ack_flag() { return acknowledges_unsafely() ? "--ack=unsafe" : ""; }

}  // namespace logjam
