// Slows the reading of a log down to the speed of a paper's devices: so many bytes a second for
// each directory, however many files and threads read there. (A `sim` device slows down only
// writes.)
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

// The pace of one directory. Any thread may call read().
class ReadPace {
 public:
  explicit ReadPace(double bytes_per_second) : ns_per_byte_(1e9 / bytes_per_second) {}

  // Enters a read of `bytes` behind all earlier reads, and sleeps until a device of that speed
  // would have done it.
  void read(uint64_t bytes) {
    const uint64_t now = platform::now_ns();
    uint64_t done;
    {
      platform::lock_guard<platform::mutex> hold(mutex_);
      // While no thread reads, a device reads ahead a little.
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

// The paces of all directories. One thread may call of() at a time.
class ReadPaces {
 public:
  explicit ReadPaces(double bytes_per_second) : bytes_per_second_(bytes_per_second) {}

  // Returns the pace of each file, or none if the speed is 0, which means unlimited. The paces live
  // as long as this object.
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
