#include "engine/checkpoint/checkpointer.h"

#include <glog/logging.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "engine/checkpoint/row_writer.h"
#include "logging/format/remove_files.h"
#include "platform/assert.h"
#include "platform/clock.h"
#include "platform/fatal.h"
#include "platform/files.h"
#include "platform/host.h"

namespace logjam {
namespace {

constexpr uint64_t kLookNs = 5'000'000;
constexpr uint64_t kWaitNs = 200'000;

double seconds(uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

// Marks as removable all checkpoints, runs and bytes of the log that no recovery needs. A recovery
// starts from checkpoint `latest`, or from the newest complete checkpoint before `latest`.
void cover(Manifest& manifest, const std::vector<std::string>& directories, uint64_t latest) {
  std::vector<Checkpoint> kept;
  for (auto one = manifest.checkpoints.rbegin(); one != manifest.checkpoints.rend(); ++one) {
    std::string missing;
    paths_of(directories, *one, &missing);
    const bool usable = one->complete && missing.empty() && one->number <= latest;
    if (usable && kept.size() < 2) kept.push_back(*one);
  }
  const std::vector<Checkpoint> all = manifest.checkpoints;
  for (const Checkpoint& one : all) {
    if (std::ranges::count(kept, one.number, &Checkpoint::number) == 0) {
      manifest.remove_checkpoint(one.number);
    }
  }
  if (kept.size() < 2) return;
  const Checkpoint& before = kept[1];
  const std::vector<ManifestRun> runs = manifest.runs;
  for (const ManifestRun& run : runs) {
    if (run.ordinal() >= before.ordinal) continue;
    manifest.remove_run(run.ordinal());
    manifest.whole = false;
  }
  ManifestRun* run = manifest.run(before.ordinal);
  if (before.at_end || run == nullptr) return;
  run->released.clear();
  for (const StreamStart& start : before.rsn) run->released.push_back(start.position);
  manifest.whole = false;
}

void remove_removable(const CheckpointOptions& options) {
  const RemovedFiles removed =
      remove_files(options.manifest->directories(), options.manifest->current().removable,
                   [&options] { options.after_step("a file removed"); });
  for (const std::string& note : removed.notes) LOG(WARNING) << note;
  if (removed.gone.empty()) return;
  options.manifest->change([&removed](Manifest& manifest) {
    std::erase_if(manifest.removable, [&removed](const Removable& one) {
      return std::ranges::count(removed.gone, one) != 0;
    });
  });
}

}  // namespace

Checkpoint begin_checkpoint(const CheckpointOptions& options, std::string* wrong) {
  LJ_ASSERT(options.manifest != nullptr && options.files > 0);
  const std::vector<std::string>& directories = options.manifest->directories();
  Checkpoint checkpoint = options.about;
  checkpoint.id = platform::random_number();
  checkpoint.number = options.manifest->current().last_checkpoint + 1;
  // Do not use the number of a directory `checkpoint-N` that exists already.
  const auto taken = [&](const std::string& directory) {
    platform::FileStatus status;
    const std::string path = checkpoint_directory(directory, checkpoint.number);
    return platform::files().status(path, &status) != 0 || status.kind != platform::FileKind::kNone;
  };
  while (std::ranges::any_of(directories, taken)) ++checkpoint.number;
  options.manifest->change([&](Manifest& manifest) {
    manifest.last_checkpoint = checkpoint.number;
    manifest.checkpoints.push_back(checkpoint);
  });
  options.after_step("begun");
  wrong->clear();
  for (const std::string& directory : directories) {
    const std::string path = checkpoint_directory(directory, checkpoint.number);
    const int error = make_directory_of(path, checkpoint.id);
    if (error == 0) continue;
    *wrong = "cannot create " + path + ": " + platform::error_text(error);
    break;
  }
  return checkpoint;
}

std::string write_rows(Database& database, const CheckpointOptions& options,
                       const std::function<bool()>& stops, Checkpoint* checkpoint) {
  const std::vector<std::string>& directories = options.manifest->directories();
  const auto writers = static_cast<uint32_t>(directories.size());
  LJ_ASSERT(options.sockets.empty() || options.sockets.size() == writers);
  const TableParts parts(database, writers * options.files);
  std::unique_ptr<DevicePace> pace;
  if (options.bytes_per_second > 0) pace = std::make_unique<DevicePace>(options.bytes_per_second);
  struct Written {
    std::string wrong;
    CheckpointFile file;
    uint64_t sequence = 0;
  };
  std::vector<Written> written(parts.parts());
  const auto write_files = [&](uint32_t writer) {
    platform::name_this_thread("checkpoint-" + std::to_string(writer));
    if (!options.sockets.empty()) platform::pin_to_socket(options.sockets[writer]);
    for (uint32_t part = writer; part < parts.parts(); part += writers) {
      RowWriter file({.path = checkpoint_directory(directories[writer], checkpoint->number) +
                              "/rows-" + std::to_string(part),
                      .id = checkpoint->id,
                      .part = static_cast<uint16_t>(part),
                      .pace = pace.get(),
                      .stops = stops});
      written[part].wrong = file.write(database, parts);
      if (!written[part].wrong.empty()) return;
      written[part].file = file.file();
      written[part].sequence = file.sequence();
    }
    // The names of the files are durable before the manifest lists them.
    const std::string path =
        checkpoint_directory(directories[writer], checkpoint->number) + "/rows";
    if (const int error = platform::sync_parent(path); error != 0) {
      written[writer].wrong =
          "cannot sync the directory of " + path + ": " + platform::error_text(error);
    }
  };
  std::vector<platform::thread> threads;
  for (uint32_t writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&write_files, writer] { write_files(writer); });
  }
  for (platform::thread& thread : threads) thread.join();
  checkpoint->tables = describe_tables(database);
  for (const Written& one : written) {
    if (!one.wrong.empty()) return one.wrong;
    checkpoint->files.push_back(one.file);
    checkpoint->sequence = std::max(checkpoint->sequence, one.sequence);
  }
  return "";
}

void complete_checkpoint(const CheckpointOptions& options, const Checkpoint& latest) {
  LogManifest& log = *options.manifest;
  log.change([&](Manifest& manifest) {
    const auto begun = std::ranges::find(manifest.checkpoints, latest.number, &Checkpoint::number);
    LJ_ASSERT(begun != manifest.checkpoints.end() && !begun->complete);
    *begun = latest;
    manifest.checkpoints.back().complete = true;
    cover(manifest, log.directories(), latest.number);
  });
  options.after_step("complete");
  const Manifest manifest = log.current();
  for (const ManifestRun& run : manifest.runs) {
    if (run.released.empty()) continue;
    if (options.release_log && run.ordinal() == options.about.ordinal) {
      options.release_log(run.released);
    } else {
      remove_released(log.directories(), run);
    }
    options.after_step("the log released");
  }
  remove_removable(options);
}

void abandon_checkpoint(const CheckpointOptions& options, uint64_t number) {
  options.manifest->change([number](Manifest& manifest) { manifest.remove_checkpoint(number); });
  remove_removable(options);
}

Checkpoint checkpoint_at_end(Database& database, const CheckpointOptions& options,
                             std::string* wrong) {
  Checkpoint checkpoint = begin_checkpoint(options, wrong);
  checkpoint.at_end = true;
  if (wrong->empty()) *wrong = write_rows(database, options, nullptr, &checkpoint);
  options.after_step("the rows written");
  if (wrong->empty()) complete_checkpoint(options, checkpoint);
  return checkpoint;
}

Checkpointer::Checkpointer(const CheckpointOptions& options, Database& database, LogScheme& log,
                           Epochs& epochs, CommitPointRequest& question,
                           std::function<uint64_t()> acknowledged)
    : options_(options),
      database_(database),
      log_(log),
      epochs_(epochs),
      question_(question),
      acknowledged_(std::move(acknowledged)) {}

void Checkpointer::start() {
  LJ_ASSERT(!thread_.joinable() && !stopping());
  thread_ = platform::thread([this] { daemon(); });
}

void Checkpointer::stop() {
  stopping_.store(true, platform::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

void Checkpointer::daemon() {
  platform::name_this_thread("checkpoint");
  began_ns_ = platform::now_ns();
  began_bytes_ = durable_bytes();
  while (!stopping()) {
    if (due()) {
      take();
    } else {
      platform::sleep_ns(kLookNs);
    }
  }
}

uint64_t Checkpointer::durable_bytes() const {
  const auto positions = log_.durable_positions();
  return std::accumulate(positions.begin(), positions.end(), uint64_t{0});
}

bool Checkpointer::due() {
  if (options_.every_seconds > 0 &&
      seconds(platform::now_ns() - began_ns_) >= options_.every_seconds) {
    return true;
  }
  return options_.every_bytes > 0 && durable_bytes() - began_bytes_ >= options_.every_bytes;
}

void Checkpointer::take() {
  began_ns_ = platform::now_ns();
  began_bytes_ = durable_bytes();
  {
    const platform::lock_guard<platform::mutex> hold(mutex_);
    taking_since_ns_ = began_ns_;
    acknowledged_before_ = acknowledged_();
  }
  std::string wrong;
  Checkpoint checkpoint = begin_checkpoint(options_, &wrong);
  epochs_.pause_removals();
  for (const uint64_t position : log_.published_positions()) {
    checkpoint.rsn.push_back({.position = position});
  }
  options_.after_step("RSN taken");
  if (wrong.empty()) {
    wrong = write_rows(
        database_, options_, [this] { return stopping(); }, &checkpoint);
  }
  epochs_.resume_removals();
  options_.after_step("the rows written");
  bool complete = false;
  if (wrong.empty() && wait_until_safe(checkpoint) && complete_rsn(&checkpoint)) {
    complete = true;
    complete_checkpoint(options_, checkpoint);
  }
  if (!wrong.empty() && wrong != RowWriter::kAbandoned) platform::fatal(wrong);
  {
    const platform::lock_guard<platform::mutex> hold(mutex_);
    const double took = seconds(platform::now_ns() - began_ns_);
    stats_.seconds += seconds(platform::now_ns() - taking_since_ns_);
    stats_.transactions += acknowledged_() - acknowledged_before_;
    taking_since_ns_ = 0;
    if (complete) {
      ++stats_.completed;
      stats_.bytes += checkpoint.bytes();
      stats_.longest_seconds = std::max(stats_.longest_seconds, took);
    }
  }
  if (!complete) return abandon_checkpoint(options_, checkpoint.number);
  VLOG(1) << checkpoint.name() << ": " << checkpoint.rows() << " rows, " << checkpoint.bytes()
          << " bytes";
}

// Executes step 4. This function and the next two return false if stop() is called meanwhile.
bool Checkpointer::wait_until_safe(const Checkpoint& checkpoint) {
  question_.ask(checkpoint.sequence);
  while (!question_.answered() || !log_.is_durable(question_.point())) {
    if (stopping()) return false;
    platform::sleep_ns(kWaitNs);
  }
  std::vector<uint64_t> positions;
  for (const StreamStart& start : checkpoint.rsn) positions.push_back(start.position);
  return wait_until_durable(positions);
}

bool Checkpointer::complete_rsn(Checkpoint* checkpoint) {
  const auto sequences = log_.durable_sequences();
  const auto ends = log_.published_positions();
  LJ_ASSERT(sequences.size() == ends.size() && checkpoint->rsn.size() == ends.size());
  if (!wait_until_durable(ends)) return false;
  for (size_t s = 0; s < ends.size(); ++s) {
    checkpoint->rsn[s].sequence = sequences[s];
    checkpoint->rsn[s].durable = ends[s];
  }
  return true;
}

bool Checkpointer::wait_until_durable(const std::vector<uint64_t>& positions) {
  const auto durable = [&] {
    return std::ranges::equal(log_.durable_positions(), positions, std::ranges::greater_equal());
  };
  while (!durable()) {
    if (stopping()) return false;
    platform::sleep_ns(kWaitNs);
  }
  return true;
}

void Checkpointer::begin_to_measure() {
  const platform::lock_guard<platform::mutex> hold(mutex_);
  stats_ = {};
  acknowledged_before_ = 0;
  if (taking_since_ns_ != 0) taking_since_ns_ = platform::now_ns();
}

CheckpointStats Checkpointer::stats() const {
  const platform::lock_guard<platform::mutex> hold(mutex_);
  CheckpointStats stats = stats_;
  if (taking_since_ns_ != 0) {
    stats.seconds += seconds(platform::now_ns() - taking_since_ns_);
    stats.transactions += acknowledged_() - acknowledged_before_;
  }
  return stats;
}

}  // namespace logjam
