#include "cli/micro_sync.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "cli/choices.h"
#include "cli/flags.h"
#include "cli/placement.h"
#include "cli/row_files.h"
#include "logging/device/device_registry.h"
#include "platform/fatal.h"
#include "platform/nearest_name.h"
#include "platform/thread.h"

DEFINE_string(
    sync, "",
    "without a log: KIND[:LINES[:PAUSE_NS]], such as faa or ticket:512; KIND is an atomic "
    "operation (faa, cas, cas-faa, swap, load, tas-once) on one of "
    "LINES words, or a lock (tas, ticket, ticket-backoff, mcs, clh), one of LINES; a thread pauses "
    "after each call for PAUSE_NS, without it for 50 with one line, and not at all with several");
DECLARE_uint32(threads);
DECLARE_double(seconds);
DECLARE_double(warmup);
DECLARE_uint64(seed);
DECLARE_uint64(transactions);

namespace logjam {
namespace {

using platform::refuse;

constexpr uint32_t kMostLines = 1 << 20;
// About 100 cycles of the multi-sockets of David et al. (2.1 GHz), the default of their libslock
// (bmarks/atomic_bench.c).
constexpr double kPauseNs = 50;

// All other flags of micro are about its log.
constexpr std::array<std::string_view, 11> kTaken = {
    "sync",      "threads", "seconds", "warmup",   "transactions", "seed",
    "placement", "csv",     "json",    "flagfile", "test"};

void refuse_flags_of_logs() {
  for (const auto& flag : own_flags()) {
    if (flag.is_default || flag.filename.starts_with("sim/")) continue;
    if (std::ranges::find(kTaken, flag.name) == kTaken.end()) {
      refuse("--" + flag.name + " is about a log, and micro has none with --sync");
    }
  }
}

sync::Options sync_options() {
  refuse_flags_of_logs();
  refuse_thread_count();
  if (!(FLAGS_seconds > 0)) refuse("--seconds must be more than 0");
  if (!(FLAGS_warmup >= 0)) refuse("--warmup must not be negative");
  sync::Options options;
  refuse_if(parse_sync(FLAGS_sync, &options));
  options.threads = FLAGS_threads;
  options.seconds = FLAGS_seconds;
  options.warmup_seconds = FLAGS_transactions != 0 ? 0 : FLAGS_warmup;
  options.calls = FLAGS_transactions;
  options.seed = FLAGS_seed;
  options.pin = workers_are_pinned();
  return options;
}

Row make_row(const sync::Options& options, const sync::Result& result) {
  const auto calls = static_cast<double>(result.calls);
  Row row = {
      {"sync", FLAGS_sync.substr(0, FLAGS_sync.find(':'))},
      {"lines", options.lines},
      {"pause_ns", number(options.pause_ns)},
      {"threads", options.threads},
      {"placement", placement_text()},
      {"seconds", number(result.seconds, 6)},
      {"calls", result.calls},
      {"calls_s", number(per(calls, result.seconds), 0)},
      {"least_calls", result.least_calls},
      {"most_calls", result.most_calls},
      {"failed_pct", number(100 * per(static_cast<double>(result.failed), calls), 2)},
      {"cpu_pct",
       number(100 * per(result.usage.cpu_seconds, result.seconds * platform::core_count()))},
  };
  add_origin(&row);
  return row;
}

}  // namespace

std::string parse_sync(const std::string& given, sync::Options* options) {
  std::string_view rest = given;
  const std::string_view name = rest.substr(0, rest.find(':'));
  const auto kind = sync::kind_named(name);
  if (!kind) {
    return "--sync=" + given + " is not a kind" + platform::instead_of(name, sync::kind_names());
  }
  options->kind = *kind;
  rest.remove_prefix(std::min(rest.find(':'), rest.size()));
  double lines = 1;
  if (!rest.empty() && (!take_number(&rest, &lines) || lines < 1 || lines > kMostLines ||
                        lines != std::floor(lines))) {
    return "--sync=" + given + ": 1 to " + std::to_string(kMostLines) +
           " lines come after the first colon";
  }
  options->lines = static_cast<uint32_t>(lines);
  options->pause_ns = options->lines == 1 ? kPauseNs : 0;
  if (!rest.empty() && (!take_number(&rest, &options->pause_ns) || !rest.empty())) {
    return "--sync=" + given + ": a pause of 0 to 1e9 ns comes after the second colon";
  }
  return "";
}

bool sync_wanted() { return !gflags::GetCommandLineFlagInfoOrDie("sync").is_default; }

int micro_sync() {
  const sync::Options options = sync_options();
  place_threads({}, false);
  claim_row_files(make_row(options, {}));
  const sync::Result result = sync::measure(options);
  const Row row = make_row(options, result);
  append_row(row);
  print_summary(row);
  if (result.lost != 0) {
    platform::fatal("two threads were in one critical section: " + std::to_string(result.lost) +
                        " of its writes were lost",
                    platform::kExitViolation);
  }
  return 0;
}

}  // namespace logjam
