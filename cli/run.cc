#include <gflags/gflags.h>
#include <glog/logging.h>

#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/recovered_log.h"
#include "cli/report.h"
#include "logging/format/record.h"
#include "logging/format/text_block.h"
#include "logging/log.h"
#include "platform/assert.h"
#include "platform/clock.h"
#include "platform/exploration.h"
#include "platform/fatal.h"
#include "platform/hardware_counters.h"
#include "platform/test_value.h"
#include "platform/text.h"
#include "proof/history/with_history.h"
#include "workloads/trace/record.h"

namespace logjam {
namespace {

// Lets checks fail for transactions that an unsafe scheme loses, as if the scheme were safe.
const platform::TestValue judged_unsafe("judge_unsafe");

// The space for the given flags in a log's header. The header has one block, which also stores the
// flags that a recovery needs.
constexpr size_t kMostGivenBytes = 1500;

void stop_on_signals() {
  struct sigaction action = {};
  action.sa_handler = [](int) { request_stop(); };
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // a second Ctrl-C kills the process
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction hang_up = {};  // under nohup SIGHUP stays ignored
  sigaction(SIGHUP, nullptr, &hang_up);
  if (hang_up.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

// Returns the options for recovering the continued log, or nothing without --continue. Refuses
// --continue with --overwrite. All other flags are read later, because the log sets some of them.
std::optional<RecoveryOptions> continue_options() {
  if (!FLAGS_continue) return std::nullopt;
  if (FLAGS_overwrite) platform::refuse("--continue needs the log that --overwrite drops");
  return recovery_options();
}

// Refuses output files that cannot be written. Call it before any table is loaded.
void claim_outputs(const Settings& settings, const Row& row) {
  settings.files.claim(row);
  settings.files.claim_cdf();
  if (!settings.timeline.empty()) TimelineFile::claim(settings.timeline);
  if (!settings.record.empty()) claim_record(settings.record);  // before the claim of --history
  if (!settings.history.empty()) claim_history(settings.history);
}

// Returns the length of the longest record of such a transaction, or a little more.
uint64_t longest_record(const Settings& settings, const LargestTransaction& largest) {
  const uint64_t row = padded_row(largest.row_bytes);
  if (settings.scheme->traits.commands) {
    const LoggedCommand nothing;
    return sizeof(RecordHeader) + encoded_bytes(nothing) + largest.command_bytes;
  }
  if (settings.run.log_records == LogRecords::kOperation) {
    return sizeof(RecordHeader) + sizeof(WriteHeader) + 2 * row;  // before and after
  }
  return sizeof(RecordHeader) + largest.rows * (sizeof(WriteHeader) + row);
}

// The steps of one `logjam run`. It refuses flags before it changes files or does long work.
class Steps {
 public:
  // Reads the flags, and checks them against each other, the continued log, and this machine's
  // memory.
  void settle();
  void choose_worker_class();
  // Makes the log and the database. If the run continues a log, first recovers the database.
  // Otherwise loads the tables last, so that a log that cannot be used is refused before the load.
  void open();
  // Completes the options of checkpoints. Call it after open().
  void prepare_checkpoints();
  // Runs the warm-up, the measured phase and the drain, and writes the rows of --timeline.
  RunResult measure();
  // Checks the database, and prints and appends the row. Returns the exit status.
  int report(const RunResult& result);

 private:
  void recover();
  void begin_step(int number) {
    LJ_ASSERT(steps_ == number - 1);
    steps_ = number;
  }

  int steps_ = 0;  // the number of steps that have begun
  std::optional<Continued> continued_;
  Settings settings_;
  std::string excused_;                   // why acknowledged transactions may be lost
  std::vector<std::string> directories_;  // --wal_dir: the directories of the log
  CheckpointOptions checkpoints_;
  std::optional<trace::Recording> recording_;  // empty: none
  std::unique_ptr<Workload> workload_;
  std::optional<platform::WorkerClass> workers_;
  std::unique_ptr<Database> database_;
  std::optional<platform::HardwareCounters> hardware_;
  std::optional<Log> log_;
};

void Steps::settle() {
  begin_step(1);
  if (const auto options = continue_options()) continued_.emplace(*options);
  settings_ = run_settings();
  directories_ = settings_.log.directories;
  if (continued_) settings_.log.directories = directories_ = continued_->chain.directories;
  settings_.without_effect = without_effect(settings_);
  checkpoints_ = checkpoint_options(settings_.checkpoint, directories_);
  if (checkpoints_.any()) refuse_checkpoints_of(settings_);
  if (continued_ && !device_traits(settings_.log.device).keeps) {
    platform::refuse("--device=" + settings_.log.device + " cannot continue a log");
  }
  workload_ = make_with_history(*settings_.workload);
  if (workload_->spec().own_arrivals &&
      (!settings_.run.rates.empty() || settings_.run.think_ns != 0)) {
    platform::refuse("the transactions of --workload=" + std::string(settings_.workload->name) +
                     " have times of their own, so --rate cannot go with them");
  }
  settings_.log.record_bytes = longest_record(settings_, workload_->spec().largest);
  settings_.log.header.scale = workload_->spec().description;
  std::string given = changed_flags();
  if (given.size() > kMostGivenBytes) given.replace(kMostGivenBytes, std::string::npos, " ...");
  settings_.log.header.given = given;
  claim_outputs(settings_, make_row(settings_, *workload_, RunResult{}, ""));
  // In the end each row may have an old version.
  const uint64_t copies = settings_.protocol->keeps_old_versions ? 2 : 1;
  refuse_too_large(copies * workload_->spec().expected_bytes, log_buffers(settings_.log));
  const std::string sync = unsafe_sync(settings_.log);
  if (!sync.empty()) platform::append_part(&settings_.unsafe, ", ", sync);
  excused_ = settings_.unsafe;
  const std::string unsafe = settings_.scheme->unsafe();
  if (!unsafe.empty()) platform::append_part(&settings_.unsafe, ", ", unsafe);
  if (judged_unsafe.get() == 0) excused_ = settings_.unsafe;
}

void Steps::choose_worker_class() {
  begin_step(2);
  workers_.emplace(settings_.worker_class);
  LOG(INFO) << workers_->reason();
  settings_.run.worker_class = &*workers_;
  settings_.log.config.preemptible_workers =
      workers_->preemptible() && settings_.worker_class.preemption_helps;
}

void Steps::recover() {
  LJ_ASSERT(continued_ && !log_);
  recover_continued(settings_, &*continued_);
  platform::begin_steps();
  workload_ = std::move(continued_->recovered.workload);
  database_ = std::move(continued_->recovered.database);
  workload_->resume(*database_);
  settings_.log.continued = &continued_->log;
  // Changes the seed: with the seed of the earlier run, this run would write the same values as
  // that run.
  settings_.run.seed ^= uint64_t{continued_->chain.manifest.last_ordinal + 1} << 32;
}

void Steps::open() {
  begin_step(3);
  const uint64_t start = platform::now_ns();
  hardware_.emplace();  // before the log starts the first of the threads that count
  settings_.run.hardware = &*hardware_;
  if (continued_) recover();
  settings_.log.history = !settings_.history.empty();
  settings_.log.before_replace = [this](const LogFileHeader& header) {
    workload_->start_history(settings_.run.threads,
                             {.log = header.log,
                              .ordinal = header.ordinal,
                              .after = continued_ ? continued_->after() : 0,
                              .unsafe = excused_,
                              .serializable = settings_.protocol->serializable});
  };
  settings_.log.replaced = [this] { workload_->keep_history(); };
  if (!settings_.record.empty()) recording_.emplace(settings_.record);
  log_.emplace(settings_.log);
  settings_.log.header = log_->header();
  settings_.sync = sync_column(settings_.log, *log_);
  settings_.io = log_->io();
  if (!continued_) {
    database_ = std::make_unique<Database>();
    load(*workload_, *database_, settings_.run.threads, settings_.run.progress);
  }
  LOG(INFO) << (continued_ ? "recovered " : "loaded ") << workload_->spec().description << " in "
            << number(static_cast<double>(platform::now_ns() - start) * 1e-9).text() << " s";
  if (recording_) {
    recording_->write_rows(*database_);
    workload_ = trace::recorded(std::move(workload_), *recording_);
  }
}

void Steps::prepare_checkpoints() {
  begin_step(4);
  const LogFileHeader& header = log_->header();
  checkpoints_.manifest = log_->manifest();
  checkpoints_.about.ordinal = header.ordinal;
  checkpoints_.about.flags = header.flags;
  checkpoints_.about.revision = header.revision;
  for (uint32_t directory = 0; directory < directories_.size(); ++directory) {
    checkpoints_.sockets.push_back(log_->socket_of_directory(directory));
  }
  checkpoints_.release_log = [this](const auto& positions) { log_->release(positions); };
  if (checkpoints_.any()) settings_.run.checkpoints = &checkpoints_;
}

RunResult Steps::measure() {
  begin_step(5);
  RunOptions options = settings_.run;
  std::optional<TimelineFile> timeline;
  if (!settings_.timeline.empty()) {
    timeline.emplace(settings_.timeline, options);
    options.on_sample = [&](const TimelineSample& sample) { timeline->write(sample); };
    options.sample_ms = settings_.timeline_ms;
  }
  options.watch = [this] { log_->fail_if_moved(); };
  stop_on_signals();
  log_->start();
  RunResult result = run(*workload_, *database_, *settings_.protocol, log_->scheme(), options);
  workers_->end();
  log_->drain();
  log_->stop();
  settings_.log_threads = log_->threads();
  if (recording_) {
    if (const std::string why = recording_->keep(); !why.empty()) platform::fatal(why);
  }
  log_->fail_if_moved();
  return result;
}

int Steps::report(const RunResult& result) {
  begin_step(6);
  std::string verified;
  if (settings_.verify)
    verified = print_checks(workload_->verify(*database_)) ? "passed" : "FAILED";
  print_row_counts(*database_);
  settings_.cautions = cautions_about_machine(settings_.log);
  for (std::string& caution : cautions_about_indexes(*database_)) {
    settings_.cautions.push_back(std::move(caution));
  }
  const Row row = make_row(settings_, *workload_, result, verified);
  settings_.files.append(row);
  settings_.files.write_cdf(result.commit);
  print_summary(row);
  print_types(*workload_, result);
  print_notes(settings_, *workload_, result);
  if (verified == "FAILED") return platform::kExitViolation;
  if (result.out_of_memory) {
    platform::fatal(
        "the run ended early, because hardly any memory was left: a shorter run, or a "
        "slower one (--rate), would fit");
  }
  return 0;
}

}  // namespace

int run_command() {
  Steps steps;
  steps.settle();
  steps.choose_worker_class();
  steps.open();
  steps.prepare_checkpoints();
  const RunResult result = steps.measure();
  return steps.report(result);
}

}  // namespace logjam
