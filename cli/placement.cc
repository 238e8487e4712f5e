#include "cli/placement.h"

#include <gflags/gflags.h>

#include "platform/device_irq.h"
#include "platform/fatal.h"

DEFINE_bool(pin, true, "pin each worker to its core of --placement");
DEFINE_string(
    placement, "compact",
    "cores for workers: compact: those of a socket, then those of the next; scatter: "
    "sockets by turns; both take a core's second context when no core is free; smt: the "
    "contexts of a core next to each other. A flusher keeps to the socket of its stream, and so "
    "does the writer of a checkpoint's files beside it");
DEFINE_int32(first_core, -1,
             "worker 0's core, where --placement begins; -1: with --commit=sync the core that the "
             "log's device interrupts, where a write's end wakes its worker soonest; else the one "
             "behind it, so that busy workers come to that core last");
DECLARE_uint32(threads);

namespace logjam {

using platform::refuse;

platform::PlacementPolicy placement_policy() {
  if (const auto policy = platform::placement_policy(FLAGS_placement)) return *policy;
  refuse("--placement=" + FLAGS_placement + " is not a placement; compact, scatter and smt are");
}

// A busy worker should not run on the core that the device interrupts, because the kernel finishes
// writes there. A worker that waits for each write should: when its write ends, no core has to
// interrupt another core to wake it.
void place_threads(const std::vector<std::string>& directories, bool workers_wait) {
  platform::Placement chosen(platform::this_machine(), placement_policy(), FLAGS_threads);
  if (FLAGS_first_core != -1) {
    if (!chosen.begin_at(FLAGS_first_core)) {
      refuse("--first_core=" + std::to_string(FLAGS_first_core) +
             " is not a core that this process may use; -1 chooses one");
    }
  } else if (!directories.empty()) {
    const int interrupted = platform::interrupt_core(directories.front());
    workers_wait ? chosen.begin_at(interrupted) : chosen.end_at(interrupted);
  }
  platform::use_placement(chosen);
}

std::string placement_text() {
  return FLAGS_pin ? platform::placement().text() : "none: workers are not pinned";
}

}  // namespace logjam
