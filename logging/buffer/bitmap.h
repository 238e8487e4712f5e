// A bit for each byte of a log buffer, set when it is filled and scanned one after the other: what
// ELEDA compares its grasshopper with (section 6.5.4).
//
// Records are multiples of 8 bytes, so each byte of the bitmap is one record's.
//
// Protocol. A publisher stores its bytes of the bitmap (release). The one that scans loads them
// (acquire), and clears those it has passed before the watermark is stored: a publisher of the next
// lap, whose hole fits into the ring only behind that watermark, finds them clear. The watermark
// may stop inside a record whose publisher is still setting bits; its bytes are filled
// nevertheless.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "logging/buffer/ring.h"
#include "logging/log_scheme.h"
#include "platform/atomic.h"

namespace logjam {

class Bitmap {
 public:
  static constexpr bool kOwnThread = true;

  Bitmap(const LogConfig&, const Ring& ring)
      : bits_(ring.capacity() / kBytes), mask_(ring.capacity() / kBytes - 1) {}

  bool room(uint32_t) const { return true; }
  void publish(uint32_t, uint64_t begin, uint64_t end) {
    for (uint64_t i = begin / kBytes; i < end / kBytes; ++i) {
      bits_[i & mask_].store(kFilled, platform::memory_order_release);
    }
  }
  uint64_t advance(uint64_t filled, const platform::atomic<uint64_t>&) {
    uint64_t i = filled / kBytes;
    for (const uint64_t stop = i + kBytesPerStep / kBytes; i < stop; ++i) {
      platform::atomic<uint8_t>& bits = bits_[i & mask_];
      if (bits.load(platform::memory_order_acquire) != kFilled) break;
      bits.store(0, platform::memory_order_relaxed);
    }
    return i * kBytes;
  }
  uint64_t slack_bytes() const { return 0; }
  Counters counters() const { return {}; }

 private:
  static constexpr uint64_t kBytes = 8;  // of the log for one of the bitmap
  static constexpr uint8_t kFilled = 0xff;
  static constexpr uint64_t kBytesPerStep = 1 << 20;

  std::vector<platform::atomic<uint8_t>> bits_;
  const uint64_t mask_;
};

}  // namespace logjam
