#include <gflags/gflags.h>
#include <glog/logging.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/cdf.h"
#include "cli/checkpoints.h"
#include "cli/commands.h"
#include "cli/recovered_log.h"
#include "cli/report.h"
#include "cli/row_files.h"
#include "cli/settings.h"
#include "cli/timeline.h"
#include "logging/directory_locks.h"
#include "logging/flag_checks.h"
#include "logging/format/run_directories.h"
#include "logging/log.h"
#include "platform/clock.h"
#include "platform/fatal.h"
#include "platform/text.h"
#include "proof/history/with_history.h"

DEFINE_string(
    timeline, "",
    "file for a CSV row of each interval, as soon as it is known; what was acknowledged, "
    "latency, aborts, log, and how far the log lags; also of the warm-up, whose times are "
    "negative, and of the drain");
DEFINE_uint64(timeline_ms, 100, "length of the intervals of --timeline");
DEFINE_bool(continue, false,
            "recover the log in the --wal_dir directories, and continue it; with the same --log, "
            "--cc and device or with others");
DECLARE_bool(overwrite);
DEFINE_bool(verify, true, "the workload's own checks afterwards");

namespace logjam {
namespace {

// A worker under pipelined commit waits for the log only when its pipeline is full. Then commit
// latency is the time in which the log makes a pipeline of transactions durable. Schemes that
// acknowledge late, Silo's epochs above all, go as fast as the pipeline is deep.
void note_full_pipelines(const RunOptions& options, const RunResult& result) {
  constexpr double kWorthANote = 10;
  const double full_pct = result.pipeline_full_pct;
  if (options.commit != CommitPolicy::kPipelined || full_pct < kWorthANote) return;
  std::printf(
      "note: %.0f %% of their time workers had --pipeline_depth=%u transactions in flight and "
      "waited "
      "for the log: that depth, not the scheme alone, sets the commit latency\n",
      full_pct, options.pipeline_depth);
}

void note_worker_class(const platform::WorkerClass& workers) {
  if (!workers.cost().empty()) std::printf("note: %s\n", workers.cost().c_str());
}

void note_caution(const Workload& workload, const RunResult& result) {
  const auto caution_of = workload.spec().caution;
  if (result.seconds == 0 || caution_of == nullptr) return;
  const std::string caution = caution_of(static_cast<double>(result.transactions) / result.seconds);
  if (!caution.empty()) std::printf("note: %s\n", caution.c_str());
}

void note_nothing_measured(const RunResult& result) {
  if (result.seconds > 0) return;
  std::printf("note: the run ended in its warm-up, so nothing was measured\n");
}

void stop_on_signals() {
  struct sigaction action = {};
  action.sa_handler = [](int) { request_stop(); };
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // a second Ctrl-C ends a run that does not
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

// A log that the run goes on with: what was recovered of it, and what a new run must say of it.
struct Continued {
  explicit Continued(const std::vector<std::string>& directories)
      : locks(directories, DirectoryUse::kWrite), chain(open_log(directories)) {}

  const DirectoryLocks locks;
  const LogChain chain;
  RecoveredChain recovered = {};
};

// Recovers the database and makes all durable on which the next run builds. A process that was
// killed may have left records in the kernel's cache that no device has.
void recover_continued(const Settings& settings, Continued* continued) {
  ChainOptions options = chain_options(continued->chain, settings.log.directories);
  options.goes_on = true;
  if (options.protocol != nullptr) options.protocol = settings.protocol;
  // A run's flags are those of its recovery; this run's own come back afterwards.
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

// Where the run's log goes, and what its header says.
void place_behind(const Continued& continued, LogOptions* log) {
  LogFileHeader& header = log->header;
  header.ordinal = continued.chain.ordinal + 1;
  header.first_run = continued.chain.first_run;
  header.after = continued.chain.last_run;
  const RecoveredChain& recovered = continued.recovered;
  if (!recovered.runs.empty()) {
    header.after_bytes = total_bytes(recovered.runs.back().result.tails);
  }
  log->directories = run_directories(log->directories, header.ordinal);
  log->overwrite = true;  // of a run that was killed before it began
}

int run_command() {
  std::optional<Continued> continued;
  if (FLAGS_continue) {
    if (FLAGS_overwrite) platform::refuse("--continue goes on with the log that --overwrite drops");
    continued.emplace(wal_directories());
  }
  Settings settings = run_settings();
  const std::vector<std::string> directories = settings.log.directories;
  CheckpointOptions checkpoints = checkpoint_options(directories);
  if (checkpoints.any()) refuse_checkpoints_of(settings);
  if (continued && !device_traits(settings.log.device).keeps) {
    platform::refuse("--device=" + settings.log.device + " cannot go on with a log");
  }
  auto workload = make_with_history(*settings.workload);
  refuse_row_files(make_row(settings, *workload, RunResult{}, ""));
  refuse_cdf_file();
  constexpr uint64_t kMostSampleMs = 3'600'000;
  if (const std::string why = check_range("timeline_ms", FLAGS_timeline_ms, 1, kMostSampleMs);
      !why.empty()) {
    platform::refuse(why);
  }
  if (!FLAGS_timeline.empty()) refuse_unwritable("timeline", FLAGS_timeline);
  refuse_too_large(workload->spec().expected_bytes, log_buffers(settings.log));

  const std::string unsafe = settings.scheme->unsafe();
  if (!unsafe.empty()) platform::append_part(&settings.unsafe, ", ", unsafe);
  platform::WorkerClass workers(settings.worker_class);
  LOG(INFO) << workers.reason();
  settings.run.worker_class = &workers;
  settings.log.config.preemptible_workers =
      workers.preemptible() && settings.worker_class.preemption_helps;
  const uint64_t load_start = platform::now_ns();
  std::unique_ptr<Database> database;
  if (continued) {
    recover_continued(settings, &*continued);
    workload = std::move(continued->recovered.workload);
    database = std::move(continued->recovered.database);
    workload->resume(*database);
    place_behind(*continued, &settings.log);
    // With the same draws a run would write what the run before it has written.
    settings.run.seed ^= uint64_t{settings.log.header.ordinal} << 32;
  }
  settings.log.before_replace = [&] {
    workload->start_history(settings.run.threads, settings.log.header.ordinal, settings.unsafe);
  };
  Log log(settings.log);
  if (!continued) {
    database = std::make_unique<Database>();
    load(*workload, *database, settings.run.threads, settings.run.progress);
  }
  LOG(INFO) << (continued ? "recovered " : "loaded ") << workload->spec().description << " in "
            << number(static_cast<double>(platform::now_ns() - load_start) * 1e-9).text() << " s";
  const LogFileHeader& header = log.header();
  checkpoints.about.first_run = header.first_run;
  checkpoints.about.ordinal = header.ordinal;
  checkpoints.about.run = header.run;
  checkpoints.about.flags = header.flags;
  checkpoints.about.revision = header.revision;
  for (uint32_t directory = 0; directory < directories.size(); ++directory) {
    checkpoints.sockets.push_back(log.socket_of_directory(directory));
  }
  checkpoints.release_log = [&log](const auto& positions) { log.release(positions); };
  if (checkpoints.any()) settings.run.checkpoints = &checkpoints;

  std::optional<TimelineFile> timeline;
  if (!FLAGS_timeline.empty()) {
    timeline.emplace(FLAGS_timeline, settings.run.commit);
    settings.run.on_sample = [&](const TimelineSample& sample) { timeline->write(sample); };
    settings.run.sample_ms = FLAGS_timeline_ms;
  }
  stop_on_signals();
  log.start();
  const RunResult result =
      run(*workload, *database, *settings.protocol, log.scheme(), settings.run);
  workers.end();
  log.drain();
  log.stop();

  std::string verified;
  if (FLAGS_verify) verified = print_checks(workload->verify(*database)) ? "passed" : "FAILED";
  print_row_counts(*database);
  const Row row = make_row(settings, *workload, result, verified);
  print_summary(row);
  print_types(*workload, result);
  note_caution(*workload, result);
  note_full_pipelines(settings.run, result);
  note_worker_class(workers);
  note_nothing_measured(result);
  if (!settings.unsafe.empty()) {
    std::printf("UNSAFE: acknowledged transactions may be lost (%s)\n", settings.unsafe.c_str());
  }
  append_row(row);
  write_cdf(result.commit);
  if (verified == "FAILED") return platform::kExitViolation;
  if (result.out_of_memory) {
    platform::fatal(
        "the run ended early, because hardly any memory was left: a shorter one, or a "
        "slower (--rate), would fit");
  }
  return 0;
}

}  // namespace logjam
