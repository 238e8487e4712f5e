#include "logging/schemes/common/scheme_flags.h"

#include <gflags/gflags.h>

#include "logging/flag_checks.h"
#include "platform/test_value.h"

DEFINE_string(
    ack, "safe",
    "when ermia, pwal, rfa and scm acknowledge; safe: all that a transaction may have read "
    "from is durable; unsafe: as published (pwal, scm: after the worker's own flush; "
    "ermia: SBL may pass a hole; rfa: reads from the own log count as local)");
DEFINE_uint64(pwal_ngroup, 0,
              "commits that a worker of pwal or centr-lockflush flushes together; 0: 16, but in "
              "pwal a worker that waits flushes at once, and no worker flushes where log threads "
              "preempt workers");
DEFINE_uint64(poplar_segment_bytes, 64 << 10,
              "length of a segment of the buffers of poplar; a power of 2");
DEFINE_uint32(aether_slots, 4, "slots of a consolidation array, of aether-c* and dlog-*");

namespace logjam {

static const platform::TestValue forced_inserts("aether_force");

bool acknowledges_unsafely() { return FLAGS_ack == "unsafe"; }

std::string check_ack_flag() { return check_one_of("ack", FLAGS_ack, "safe", "unsafe"); }

std::string unsafe_ack_flag() { return acknowledges_unsafely() ? "--ack=unsafe" : ""; }

uint64_t pwal_ngroup() {
  constexpr uint64_t kPublished = 16;
  return FLAGS_pwal_ngroup != 0 ? FLAGS_pwal_ngroup : kPublished;
}

uint64_t poplar_segment_bytes() { return FLAGS_poplar_segment_bytes; }
std::string check_segment_flag() {
  return check_power_of_two("poplar_segment_bytes", FLAGS_poplar_segment_bytes, 4 << 10);
}

uint32_t aether_slots() { return FLAGS_aether_slots; }
uint32_t aether_force() { return static_cast<uint32_t>(forced_inserts.get()); }
std::string check_aether_flags() {
  return check_range("aether_slots", FLAGS_aether_slots, 1, 1024);
}

}  // namespace logjam
