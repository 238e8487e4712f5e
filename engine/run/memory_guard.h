// Looks now and then whether memory is about to run out. One thread uses it.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace logjam {

class MemoryGuard {
 public:
  // At 1 GB/s, about as fast as two workers can insert rows, this is 50 MB between two looks.
  static constexpr uint64_t kLookEveryNs = 50'000'000;

  // `available` returns the bytes that are left. The guard calls it every kLookEveryNs.
  MemoryGuard(uint64_t least_bytes, std::function<uint64_t()> available)
      : least_bytes_(least_bytes), available_(std::move(available)) {}

  // Returns whether less than the least are available, as of the last look.
  bool hardly_any_left(uint64_t now_ns) {
    if (now_ns >= next_look_ns_) {
      next_look_ns_ = now_ns + kLookEveryNs;
      hardly_any_left_ = available_() < least_bytes_;
    }
    return hardly_any_left_;
  }

 private:
  const uint64_t least_bytes_;
  const std::function<uint64_t()> available_;
  uint64_t next_look_ns_ = 0;
  bool hardly_any_left_ = false;
};

}  // namespace logjam
