#include "cli/checkpoints.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <span>

#include "platform/fatal.h"
#include "platform/flag_list.h"
#include "platform/host.h"
#include "platform/thread.h"

DEFINE_string(
    checkpoint, "",
    "take checkpoints, and remove the log that no recovery needs; run: s:30,mb:1024,"
    "mb_s:100 takes one every 30 seconds and whenever the log has grown by 1024 MiB, while "
    "transactions run, and writes at most 100 MB/s to all directories together; recover: "
    "--checkpoint or end,mb_s:100 takes one of the recovered database, which the next "
    "recovery loads instead of the log before it");

namespace logjam {
namespace {

CheckpointOptions options_for(const std::vector<std::string>& directories,
                              std::span<const platform::ListKey> keys) {
  refuse_if(platform::check_list("checkpoint", FLAGS_checkpoint, keys));
  const auto number = [](const char* key) { return platform::listed(FLAGS_checkpoint, key); };
  CheckpointOptions options;
  options.every_seconds = number("s");
  options.every_bytes = static_cast<uint64_t>(number("mb")) << 20;
  // A slower checkpoint would not end.
  constexpr double kLeastMbPerSecond = 0.01;
  const double mb_s = number("mb_s");
  if (mb_s > 0 && mb_s < kLeastMbPerSecond) {
    platform::refuse("--checkpoint=" + FLAGS_checkpoint + ": mb_s needs 0, or 0.01 or more");
  }
  options.bytes_per_second = mb_s * 1e6;
  // Recovery loads each file on one thread.
  const auto cores = static_cast<uint32_t>(platform::core_count());
  const auto writers = static_cast<uint32_t>(std::max<size_t>(directories.size(), 1));
  options.files = std::max(1u, (cores + writers - 1) / writers);
  return options;
}

constexpr double kMost = 1e6;
constexpr platform::ListKey kLimit = {"mb_s", 0, kMost, false};

}  // namespace

CheckpointOptions checkpoint_options(const std::vector<std::string>& directories) {
  constexpr double kMostMb = 1 << 30;
  constexpr platform::ListKey kKeys[] = {{"s", 0, kMost, false}, {"mb", 0, kMostMb}, kLimit};
  return options_for(directories, kKeys);
}

bool checkpoint_at_end_wanted() { return !FLAGS_checkpoint.empty(); }

CheckpointOptions checkpoint_at_end_options(const std::vector<std::string>& directories) {
  constexpr platform::ListKey kKeys[] = {{"end", 1, 1}, kLimit};
  return options_for(directories, kKeys);
}

void refuse_checkpoints_of(const Settings& settings) {
  const std::string log = "--log=" + std::string(settings.scheme->name);
  if (settings.scheme->traits.commands) {
    platform::refuse(log +
                     " logs commands, and their replay needs the tables as they were between two "
                     "transactions, which a checkpoint of a running database does not have; "
                     "`recover --checkpoint` takes one of the recovered database");
  }
  if (settings.log.directories.empty() || !device_traits(settings.log.device).keeps ||
      !settings.scheme->traits.logs) {
    platform::refuse("a checkpoint needs a log that is kept, and " + log +
                     " on --device=" + settings.log.device + " keeps none");
  }
  if (!platform::why_no_disk().empty()) {
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
  // The difference between these two rates is what a checkpoint costs the transactions.
  const double between = result.seconds - stats.seconds;
  const double inside_tps = per(static_cast<double>(stats.transactions), stats.seconds);
  const double between_tps =
      per(static_cast<double>(result.transactions - stats.transactions), between);
  row->emplace_back("checkpoints", value(completed, 0));
  row->emplace_back("checkpoint_mb", value(per(megabytes, completed), 1));
  row->emplace_back("checkpoint_longest_s",
                    completed > 0 ? value(stats.longest_seconds, 3) : Value());
  row->emplace_back("checkpoint_time_pct", value(100 * per(stats.seconds, result.seconds), 1));
  row->emplace_back("checkpoint_tps", value(inside_tps, 1));
  row->emplace_back("between_tps", value(between_tps, 1));
}

}  // namespace logjam
