#include "cli/placement.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

#include "platform/device_irq.h"
#include "platform/fatal.h"
#include "platform/nearest_name.h"
#include "platform/thread.h"

DEFINE_string(
    placement, "compact",
    "cores of workers: compact, scatter, smt or none; compact: the cores of one socket, then "
    "those of the next; scatter: a core of each socket in turn; both use second contexts of "
    "cores only when no core is free; smt: both contexts of a core, then those of the next; "
    "none: workers are not pinned; compact:5 begins at core 5; without a number the core that "
    "the log's device interrupts is the first one under --commit=sync, because the end of a "
    "write wakes a worker there soonest, and else the last one, because the kernel finishes "
    "writes there; flushers and writers of checkpoints keep to the socket of their stream");
DECLARE_uint32(threads);

namespace logjam {

using platform::refuse;

namespace {

struct Wanted {
  platform::PlacementPolicy policy = platform::PlacementPolicy::kCompact;
  bool pinned = true;
  std::optional<int> first_core;
};

// Reads --placement: POLICY, POLICY:CORE or none. Refuses other values.
Wanted wanted_placement() {
  Wanted wanted;
  wanted.pinned = FLAGS_placement != "none";
  if (!wanted.pinned) return wanted;
  const size_t colon = std::min(FLAGS_placement.find(':'), FLAGS_placement.size());
  const auto policy = platform::placement_policy(FLAGS_placement.substr(0, colon));
  if (!policy) {
    refuse("--placement=" + FLAGS_placement + " is not a placement" +
           platform::instead_of(FLAGS_placement.substr(0, colon),
                                {"compact", "scatter", "smt", "none"}));
  }
  wanted.policy = *policy;
  if (colon == FLAGS_placement.size()) return wanted;
  const char* core = FLAGS_placement.c_str() + colon + 1;
  char* end = nullptr;
  const int64_t number = std::strtoll(core, &end, 10);
  if (end == core || *end != '\0' || number < 0 || number > std::numeric_limits<int>::max()) {
    refuse("--placement=" + FLAGS_placement + ": the number of a core comes after the colon");
  }
  wanted.first_core = static_cast<int>(number);
  return wanted;
}

}  // namespace

bool workers_are_pinned() { return wanted_placement().pinned; }

// Keeps busy workers off the core that the device interrupts, because the kernel finishes writes
// there. Puts a worker that waits for each write on that very core: when its write ends, no core
// has to interrupt another core to wake it.
void place_threads(const std::vector<std::string>& directories, bool workers_wait) {
  const Wanted wanted = wanted_placement();
  platform::Placement chosen(platform::this_machine(), wanted.policy, FLAGS_threads);
  if (wanted.first_core) {
    if (!chosen.begin_at(*wanted.first_core)) {
      refuse("--placement=" + FLAGS_placement + ": this process may not use core " +
             std::to_string(*wanted.first_core));
    }
  } else if (!directories.empty()) {
    const int interrupted = platform::interrupt_core(directories.front());
    workers_wait ? chosen.begin_at(interrupted) : chosen.end_at(interrupted);
  }
  platform::use_placement(chosen);
}

std::string placement_text() {
  if (!workers_are_pinned()) return "none: workers are not pinned";
  const std::string why_not = platform::why_not_pinned();
  return why_not.empty() ? platform::placement().text() : "not pinned: " + why_not;
}

}  // namespace logjam
