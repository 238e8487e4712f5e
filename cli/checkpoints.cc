#include "cli/checkpoints.h"

#include <gflags/gflags.h>

#include <algorithm>

#include "logging/flag_checks.h"
#include "platform/fatal.h"
#include "platform/host.h"
#include "platform/thread.h"

DEFINE_double(checkpoint_s, 0,
              "run: take a checkpoint every so many seconds, beside the transactions, and remove "
              "the log that no recovery needs any more; 0: none");
DEFINE_uint64(checkpoint_mb, 0, "run: the same whenever the log has grown by so much; 0: never");
DEFINE_double(checkpoint_mb_s, 0,
              "run, recover: checkpoints are written at most so fast, all directories together; "
              "0: as fast as the devices take them");
DEFINE_uint32(checkpoint_files, 0,
              "files of a checkpoint in each log directory: a recovery loads each with a thread of "
              "its own; 0: as many as make one for each core");

namespace logjam {

CheckpointOptions checkpoint_options(const std::vector<std::string>& directories) {
  constexpr double kMostSeconds = 1e6;
  constexpr uint64_t kMostMb = uint64_t{1} << 30;
  constexpr uint32_t kMostFiles = 1024;
  for (const std::string& why :
       {check_range("checkpoint_s", FLAGS_checkpoint_s, 0, kMostSeconds),
        check_range("checkpoint_mb", FLAGS_checkpoint_mb, 0, kMostMb),
        check_range("checkpoint_mb_s", FLAGS_checkpoint_mb_s, 0, 1e6),
        check_range("checkpoint_files", FLAGS_checkpoint_files, 0, kMostFiles)}) {
    if (!why.empty()) platform::refuse(why);
  }
  CheckpointOptions options;
  options.directories = directories;
  options.every_seconds = FLAGS_checkpoint_s;
  options.every_bytes = FLAGS_checkpoint_mb << 20;
  options.bytes_per_second = FLAGS_checkpoint_mb_s * 1e6;
  options.files = FLAGS_checkpoint_files;
  if (options.files == 0) {
    const auto cores = static_cast<uint32_t>(platform::core_count());
    const auto writers = static_cast<uint32_t>(std::max<size_t>(directories.size(), 1));
    options.files = std::max(1u, (cores + writers - 1) / writers);
  }
  return options;
}

void refuse_checkpoints_of(const Settings& settings) {
  const std::string log = "--log=" + std::string(settings.scheme->name);
  if (settings.scheme->traits.commands) {
    platform::refuse(log +
                     " logs commands, whose replay needs the tables as they were between two "
                     "transactions, and a checkpoint beside running ones is not that; "
                     "`recover --checkpoint` takes one of the recovered database");
  }
  if (settings.log.directories.empty() || !device_traits(settings.log.device).keeps ||
      !settings.scheme->traits.logs) {
    platform::refuse("a checkpoint is of a log that is kept: " + log +
                     " on --device=" + settings.log.device + " has none");
  }
  if (platform::is_simulated()) {
    platform::refuse("a simulated machine has no disk for checkpoints");
  }
}

void add_checkpoints(bool any, const RunResult& result, Row* row) {
  const CheckpointStats& stats = result.checkpoints;
  const auto value = [&](double number_, int decimals) {
    return any ? number(number_, decimals) : Value();
  };
  const auto completed = static_cast<double>(stats.completed);
  const double megabytes = 1e-6 * static_cast<double>(stats.bytes);
  // What transactions lose while a checkpoint is taken: their rate meanwhile, against the rest.
  const double between = result.seconds - stats.seconds;
  const double inside_tps =
      stats.seconds > 0 ? static_cast<double>(stats.transactions) / stats.seconds : 0;
  const double between_tps =
      between > 0 ? static_cast<double>(result.transactions - stats.transactions) / between : 0;
  row->emplace_back("checkpoints", value(completed, 0));
  row->emplace_back("checkpoint_mb", value(completed > 0 ? megabytes / completed : 0, 1));
  row->emplace_back("checkpoint_longest_s", value(stats.longest_seconds, 3));
  row->emplace_back("checkpoint_time_pct",
                    value(result.seconds > 0 ? 100 * stats.seconds / result.seconds : 0, 1));
  row->emplace_back("checkpoint_tps", value(inside_tps, 1));
  row->emplace_back("between_tps", value(between_tps, 1));
}

}  // namespace logjam
