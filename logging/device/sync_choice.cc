#include "logging/device/sync_choice.h"

#include <glog/logging.h>

#include <cerrno>
#include <sstream>

#include "logging/device/device_registry.h"
#include "logging/device/probe.h"
#include "platform/clock.h"
#include "platform/fatal.h"
#include "platform/files.h"

namespace logjam {
namespace {

using platform::files;

constexpr uint64_t kGroupBytes = uint64_t{16} << 10;  // the bytes of a usual group of commits
constexpr uint64_t kFileBytes = uint64_t{1} << 20;
constexpr uint64_t kMostNs = 300'000'000;
constexpr uint64_t kMostFileBytes = 4096;

std::string file_in(const std::string& directory) { return directory + "/sync-method"; }

// The file that the measurement of a method writes. The destructor removes the file.
class TrialFile {
 public:
  TrialFile(const std::string& directory, SyncMethod method)
      : path_(directory + "/logjam-" + std::string(name_of(method)) + ".tmp") {
    const int error = files().remove(path_);  // left by a killed command
    if (error != 0 && error != ENOENT) {
      platform::refuse("cannot remove " + path_ + ": " + platform::error_text(error));
    }
  }
  ~TrialFile() { files().remove(path_); }
  TrialFile(const TrialFile&) = delete;
  TrialFile& operator=(const TrialFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

}  // namespace

SyncChoice::SyncChoice(const std::string& device, const std::string& directory)
    : device_(unwrapped(device)), directory_(directory) {
  if (files().synced_write_error() != 0) {
    method_ = SyncMethod::kFdatasync;
  } else if (!read()) {
    measure();
  }
}

// Reads the remembered method. Returns whether the file has a method for this device.
bool SyncChoice::read() {
  std::string text;
  const int error = platform::read_file(file_in(directory_), &text, kMostFileBytes);
  if (error == ENOENT) return false;
  std::string why = error == 0 ? "" : platform::error_text(error);
  bool found = false;
  std::istringstream lines(text);
  for (std::string line; why.empty() && std::getline(lines, line);) {
    const size_t space = std::min(line.find(' '), line.size());
    const std::string of = line.substr(0, space);
    const auto method = sync_method(line.substr(std::min(space + 1, line.size())));
    const DeviceKind* kind = find_device(of);
    if (kind == nullptr || kind->name != of || !kind->traits.has_sync_methods ||
        (method != SyncMethod::kDsync && method != SyncMethod::kFdatasync)) {
      why = "it has a line that is not of logjam";
    } else if (of != device_) {
      others_ += line + "\n";
    } else {
      method_ = *method;
      found = true;
    }
  }
  if (why.empty()) return found;
  others_.clear();
  LOG(WARNING) << file_in(directory_) << " is not used (" << why
               << "); the sync method is measured again";
  return false;
}

void SyncChoice::measure() {
  const uint64_t end = platform::now_ns() + kMostNs;
  const TrialFile by_dsync(directory_, SyncMethod::kDsync),
      by_fdatasync(directory_, SyncMethod::kFdatasync);
  const auto options = [](const TrialFile& file, SyncMethod method) {
    return DeviceOptions{
        .path = file.path(), .preallocate_bytes = kFileBytes, .sync_method = method};
  };
  Probe dsync(device_, options(by_dsync, SyncMethod::kDsync));
  Probe fdatasync(device_, options(by_fdatasync, SyncMethod::kFdatasync));
  SyncContest contest;
  do {
    // Changes the way of writing after each round, and the first method after every two rounds.
    const auto ticks_of = [one_call = contest.rounds() % 2 == 0](Probe& probe) {
      uint64_t ticks = 0;
      probe.measure({kGroupBytes, 1, one_call}, 0, [&](uint64_t took) { ticks = took; });
      return ticks;
    };
    const bool dsync_first = contest.rounds() % 4 < 2;
    const uint64_t first = ticks_of(dsync_first ? dsync : fdatasync);
    const uint64_t second = ticks_of(dsync_first ? fdatasync : dsync);
    contest.add_round(dsync_first ? first : second, dsync_first ? second : first);
  } while (platform::now_ns() < end && !contest.is_clear());
  method_ = contest.faster();
  measured_ = true;
  LOG(INFO) << name_of(method_) << " is the faster sync method in " << directory_ << ", by "
            << contest.rounds() << " writes of " << kGroupBytes << " bytes with each method";
}

void SyncChoice::remember() const {
  if (!measured_) return;
  const std::string line = device_ + " " + std::string(name_of(method_)) + "\n";
  const int error = platform::replace_file(file_in(directory_), others_ + line);
  if (error == 0) return;
  LOG(WARNING) << "cannot remember the sync method in " << file_in(directory_) << ": "
               << platform::error_text(error);
}

}  // namespace logjam
