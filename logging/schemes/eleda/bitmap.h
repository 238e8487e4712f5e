// A tracker with a bit for each byte of a log buffer. A publisher sets the bits of the bytes that
// it has filled, and a thread scans the bits in order (ELEDA, section 6.5.4).
//
// A publisher sets `kSetBits` bits at a time, and the scan passes `kScanBits` at a time; both are 1
// or 8. Records are multiples of 8 bytes, so each byte of the bitmap belongs to one record only,
// and a publisher can set its eight bits by one store. Single bits are set by an atomic `or`.
//
// Protocol. A publisher changes the bytes of the bitmap that belong to its record (release). The
// scanning thread loads these bytes (acquire). It clears the bytes that it has passed, before the
// watermark is stored. A hole of the next lap fits into the ring only when this watermark is
// stored, so the hole's publisher finds the hole's bytes of the bitmap clear. The watermark may
// stop inside a record whose publisher is still setting bits, but all bytes before the watermark
// are filled.
#pragma once

#include <utility>

#include "logging/schemes/common/tracker_base.h"
#include "logging/stream/ring.h"

namespace logjam {

template <uint32_t kScanBits, uint32_t kSetBits>
class Bitmap : public TrackerBase {
 public:
  static constexpr bool kOwnThread = true;

  Bitmap(uint32_t, const Ring& ring)
      : bits_(ring.capacity() / kBytes), mask_(ring.capacity() / kBytes - 1) {}

  void publish(uint32_t, uint64_t begin, uint64_t end) {
    for (uint64_t i = begin / kBytes; i < end / kBytes; ++i) fill(bits_[i & mask_]);
  }
  uint64_t advance(uint64_t filled, const platform::atomic<uint64_t>&) {
    uint64_t i = filled / kBytes;
    for (const uint64_t stop = i + kBytesPerStep / kBytes; i < stop; ++i) {
      platform::atomic<uint8_t>& bits = bits_[i & mask_];
      if (!passes(bits)) break;
      bits.store(0, platform::memory_order_relaxed);
    }
    return i * kBytes;
  }

 private:
  static constexpr uint64_t kBytes = 8;  // bytes of the log for each byte of the bitmap
  static constexpr uint32_t kBits = 8;   // bits of each byte of the bitmap
  static constexpr uint64_t kBytesPerStep = 1 << 20;
  static constexpr uint8_t kStep = (1u << kScanBits) - 1;
  static constexpr uint8_t kFilled = 0xff;

  static void fill(platform::atomic<uint8_t>& bits) {
    LJ_ASSERT_IN_TESTS(bits.load(platform::memory_order_relaxed) == 0);
    if (kSetBits == kBits) return bits.store(kFilled, platform::memory_order_release);
    for (uint32_t bit = 0; bit < kBits; ++bit) {
      bits.fetch_or(static_cast<uint8_t>(1u << bit), platform::memory_order_release);
    }
  }
  // Returns whether all bits are set. Loads the bits again in each step, as a scan bit by bit does.
  static bool passes(const platform::atomic<uint8_t>& bits) {
    for (uint32_t bit = 0; bit < kBits; bit += kScanBits) {
      if ((bits.load(platform::memory_order_acquire) >> bit & kStep) != kStep) return false;
    }
    return true;
  }

  std::vector<platform::atomic<uint8_t>> bits_;
  const uint64_t mask_;
};

}  // namespace logjam
