#include "engine/checkpoint/checkpointer.h"

#include <glog/logging.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <system_error>

#include "engine/checkpoint/row_writer.h"
#include "logging/device/write_file.h"
#include "logging/format/run_directories.h"
#include "platform/clock.h"
#include "platform/fatal.h"
#include "platform/host.h"

namespace logjam {
namespace {

constexpr uint64_t kLookNs = 5'000'000;
constexpr uint64_t kWaitNs = 200'000;

double seconds(uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

// Makes the directories of the checkpoint, whose names are durable before its metadata. Returns an
// empty string, or one sentence that says what failed.
std::string make_directories(const CheckpointOptions& options, uint64_t number) {
  for (const std::string& directory : options.directories) {
    const std::string path = checkpoint_directory(directory, number);
    std::error_code error;
    std::filesystem::remove_all(path, error);  // left by an abandoned checkpoint
    std::filesystem::create_directory(path, error);
    if (error) return "cannot create " + path + ": " + error.message();
    if (const int failed = sync_directory_of(path, options.sync); failed != 0) {
      return "cannot sync " + directory + ": " + strerror(failed);
    }
  }
  return "";
}

uint64_t next_number(const std::vector<std::string>& directories) {
  const auto numbers = checkpoint_numbers_in(directories);
  return numbers.empty() ? 1 : numbers.back() + 1;
}

}  // namespace

std::string write_rows(Database& database, const CheckpointOptions& options,
                       const std::function<bool()>& stops, Checkpoint* about) {
  std::string wrong = make_directories(options, about->number);
  if (!wrong.empty()) return wrong;
  const auto writers = static_cast<uint32_t>(options.directories.size());
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
      RowWriter file({.path = checkpoint_directory(options.directories[writer], about->number) +
                              "/rows-" + std::to_string(part),
                      .id = about->id,
                      .part = static_cast<uint16_t>(part),
                      .pace = pace.get(),
                      .stops = stops,
                      .sync = options.sync});
      written[part].wrong = file.write(database, parts);
      if (!written[part].wrong.empty()) return;
      written[part].file = file.file();
      written[part].sequence = file.sequence();
    }
    // The names of the files are durable before the metadata that lists them.
    const std::string path =
        checkpoint_directory(options.directories[writer], about->number) + "/rows";
    if (const int error = sync_directory_of(path, options.sync); error != 0) {
      written[writer].wrong = "cannot sync the directory of " + path + ": " + strerror(error);
    }
  };
  std::vector<platform::thread> threads;
  for (uint32_t writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&write_files, writer] { write_files(writer); });
  }
  for (platform::thread& thread : threads) thread.join();
  about->tables = describe_tables(database);
  for (const Written& one : written) {
    if (!one.wrong.empty()) return one.wrong;
    about->files.push_back(one.file);
    about->sequence = std::max(about->sequence, one.sequence);
  }
  return "";
}

void remove_covered(const CheckpointOptions& options, const Checkpoint& latest) {
  // The complete checkpoints of this log, newest first.
  std::vector<Checkpoint> complete;
  const std::vector<uint64_t> numbers = checkpoint_numbers_in(options.directories);
  for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
    Checkpoint one;
    const bool usable = find_checkpoint(options.directories, *number, &one).empty() &&
                        one.first_run == latest.first_run && one.number <= latest.number;
    if (usable && complete.size() < 2) {
      complete.push_back(std::move(one));
    } else {
      remove_checkpoint(options.directories, *number);
      options.after_step("an older checkpoint removed");
    }
  }
  if (complete.size() < 2) return;
  const Checkpoint& before = complete[1];
  if (before.run == latest.run && !before.at_end && options.release_log) {
    std::vector<uint64_t> positions;
    for (const StreamStart& start : before.rsn) positions.push_back(start.position);
    options.release_log(positions);
    options.after_step("the log released");
  }
  const auto later = later_runs_in(options.directories);
  for (uint32_t ordinal = 1; ordinal < before.ordinal; ++ordinal) {
    if (ordinal > 1 && std::ranges::find(later, ordinal) == later.end()) continue;
    if (const int error = remove_run(options.directories, ordinal); error != 0) {
      platform::fatal("cannot remove run " + std::to_string(ordinal) +
                      " of the log: " + strerror(error));
    }
    options.after_step("an earlier run removed");
  }
}

Checkpoint checkpoint_at_end(Database& database, const CheckpointOptions& options,
                             const std::vector<uint64_t>& tails) {
  Checkpoint checkpoint = options.about;
  checkpoint.number = next_number(options.directories);
  checkpoint.id = platform::random_number();
  checkpoint.at_end = true;
  checkpoint.tails = tails;
  std::string wrong = write_rows(database, options, nullptr, &checkpoint);
  options.after_step("the rows written");
  if (wrong.empty()) wrong = write_metadata(options.directories[0], checkpoint, options.sync);
  if (!wrong.empty()) platform::fatal(wrong);
  options.after_step("the metadata written");
  remove_covered(options, checkpoint);
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
      acknowledged_(std::move(acknowledged)),
      number_(next_number(options.directories) - 1) {}

void Checkpointer::start() {
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
  Checkpoint checkpoint = options_.about;
  checkpoint.number = ++number_;
  checkpoint.id = platform::random_number();
  epochs_.pause_removals();
  for (const uint64_t position : log_.published_positions()) {
    checkpoint.rsn.push_back({.position = position});
  }
  options_.after_step("RSN taken");
  std::string wrong = write_rows(
      database_, options_, [this] { return stopping(); }, &checkpoint);
  epochs_.resume_removals();
  options_.after_step("the rows written");
  bool complete = false;
  if (wrong.empty() && wait_until_safe(checkpoint) && complete_rsn(&checkpoint)) {
    wrong = write_metadata(options_.directories[0], checkpoint, options_.sync);
    complete = wrong.empty();
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
  if (!complete) return remove_checkpoint(options_.directories, number_);
  VLOG(1) << checkpoint.name() << ": " << checkpoint.rows() << " rows, " << checkpoint.bytes()
          << " bytes";
  options_.after_step("the metadata written");
  remove_covered(options_, checkpoint);
}

// Waits for step 4. Returns false if the run ends before, as do the next two functions.
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
