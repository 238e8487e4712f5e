#include "cli/continued.h"

#include <gflags/gflags.h>

#include <cstring>

#include "logging/format/run_directories.h"
#include "platform/fatal.h"

namespace logjam {

void recover_continued(const Settings& settings, Continued* continued) {
  ChainOptions options = chain_options(continued->chain, settings.log.directories);
  options.goes_on = true;
  if (options.protocol != nullptr) options.protocol = settings.protocol;
  // An earlier run is recovered under the flags of that run, and then this run's own come back.
  options.before_run = take_recovery_flags;
  {
    const gflags::FlagSaver own;
    continued->recovered = recover_chain(continued->chain, options);
  }
  RecoveredChain& recovered = continued->recovered;
  if (!print_recovered(recovered, "")) {
    platform::fatal("the log cannot be continued", platform::kExitViolation);
  }
  // A corrupt checkpoint must not count as the second chance of a later one.
  for (const uint64_t number : recovered.corrupt) {
    remove_checkpoint(settings.log.directories, number);
  }
  if (recovered.runs.empty()) return;
  if (const int error = sync_run(recovered.runs.back().files); error != 0) {
    platform::fatal(std::string("cannot sync the log that is to be continued: ") + strerror(error));
  }
}

void follow(const Continued& continued, LogOptions* log) {
  LogFileHeader& header = log->header;
  header.ordinal = continued.chain.ordinal + 1;
  header.first_run = continued.chain.first_run;
  header.after = continued.chain.last_run;
  const RecoveredChain& recovered = continued.recovered;
  if (!recovered.runs.empty()) {
    header.after_bytes = total_bytes(recovered.runs.back().result.tails);
  }
  log->directories = run_directories(log->directories, header.ordinal);
  // A run that was killed before its first record may have left files in these directories.
  log->overwrite = true;
}

}  // namespace logjam
