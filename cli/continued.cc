#include "cli/continued.h"

#include <gflags/gflags.h>

#include "platform/fatal.h"

namespace logjam {

void recover_continued(const Settings& settings, Continued* continued) {
  ChainOptions options = chain_options(continued->chain);
  options.goes_on = true;
  if (options.protocol != nullptr) options.protocol = settings.protocol;
  // An earlier run is recovered under the flags of that run, and then this run's own come back.
  options.before_run = take_recovery_flags;
  {
    const gflags::FlagSaver own;
    continued->recovered = recover_chain(continued->chain, options);
  }
  if (!print_recovered(continued->recovered, "")) {
    platform::fatal("the log cannot be continued", platform::kExitViolation);
  }
}

}  // namespace logjam
