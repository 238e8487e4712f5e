// Reads a log no faster than the devices of a paper would give it: so many bytes a second of each
// directory, whatever number of files and threads read there. (A `sim` device is slow to write
// only.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "platform/clock.h"
#include "platform/mutex.h"

namespace logjam {

class ReadPace {
 public:
  explicit ReadPace(double bytes_per_second) : ns_per_byte_(1e9 / bytes_per_second) {}

  // Returns when a device that began with these bytes behind all earlier ones has read them.
  void read(uint64_t bytes) {
    const uint64_t now = platform::now_ns();
    uint64_t done;
    {
      platform::lock_guard<platform::mutex> hold(mutex_);
      // A device reads ahead a little while nobody asks.
      const uint64_t begin = std::max(now - kReadAheadNs, done_ns_);
      done = done_ns_ = begin + static_cast<uint64_t>(static_cast<double>(bytes) * ns_per_byte_);
    }
    if (done > now) platform::sleep_ns(done - now);
  }

 private:
  static constexpr uint64_t kReadAheadNs = 20'000'000;

  const double ns_per_byte_;
  platform::mutex mutex_;
  uint64_t done_ns_ = 0;
};

// One for each directory.
class ReadPaces {
 public:
  explicit ReadPaces(double bytes_per_second) : bytes_per_second_(bytes_per_second) {}

  // Of each file; empty if nothing is held back.
  std::vector<ReadPace*> of(const std::vector<std::string>& paths) {
    std::vector<ReadPace*> paces;
    if (bytes_per_second_ == 0) return paces;
    for (const std::string& path : paths) {
      auto& pace = paces_[std::filesystem::path(path).parent_path()];
      if (pace == nullptr) pace = std::make_unique<ReadPace>(bytes_per_second_);
      paces.push_back(pace.get());
    }
    return paces;
  }

 private:
  const double bytes_per_second_;
  std::map<std::string, std::unique_ptr<ReadPace>> paces_;
};

}  // namespace logjam
