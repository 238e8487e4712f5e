// Slows down reads of a log and its checkpoints, and writes of checkpoints, to the speed of a
// paper's devices. All files and threads of a directory share the speed of one device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "platform/assert.h"
#include "platform/clock.h"
#include "platform/mutex.h"
#include "platform/thread_annotations.h"

namespace logjam {

// The pace of one directory. Any thread may call transfer().
class DevicePace {
 public:
  explicit DevicePace(double bytes_per_second) : ns_per_byte_(1e9 / bytes_per_second) {
    LJ_ASSERT(bytes_per_second != 0);
  }

  // Queues a transfer after all earlier transfers, and sleeps until this transfer would be over.
  void transfer(uint64_t bytes) {
    const uint64_t now = platform::now_ns();
    uint64_t done;
    {
      platform::lock_guard<platform::mutex> hold(mutex_);
      // The transfer may begin before this call: an idle device reads ahead, or caches writes.
      const uint64_t begin = std::max(now - kAheadNs, done_ns_);
      done = done_ns_ = begin + static_cast<uint64_t>(static_cast<double>(bytes) * ns_per_byte_);
    }
    if (done > now) platform::sleep_ns(done - now);
  }

 private:
  static constexpr uint64_t kAheadNs = 20'000'000;

  const double ns_per_byte_;
  platform::mutex mutex_;
  uint64_t done_ns_ LJ_GUARDED_BY(mutex_) = 0;
};

// The paces of all directories. One thread at a time may call `of`.
class DevicePaces {
 public:
  explicit DevicePaces(double bytes_per_second) : bytes_per_second_(bytes_per_second) {}

  // Returns, for each path, the pace of the file's directory. This object owns the paces. Returns
  // an empty list if the speed is 0.
  std::vector<DevicePace*> of(const std::vector<std::string>& paths) {
    std::vector<DevicePace*> paces;
    if (bytes_per_second_ == 0) return paces;
    for (const std::string& path : paths) {
      auto& pace = paces_[std::filesystem::path(path).parent_path()];
      if (pace == nullptr) pace = std::make_unique<DevicePace>(bytes_per_second_);
      paces.push_back(pace.get());
    }
    return paces;
  }

 private:
  const double bytes_per_second_;
  std::map<std::string, std::unique_ptr<DevicePace>> paces_;
};

}  // namespace logjam
