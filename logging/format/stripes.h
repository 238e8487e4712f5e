// Maps the positions of a striped stream to offsets in its files, one file for each device. Stripe
// s belongs to device s % devices, and lies directly after the device's earlier stripes. With one
// device the stream lies in its file without stripes. Positions are those of the stream, in bytes.
// Any thread may call any function.
#pragma once

#include <cstdint>

#include "logging/format/log_file.h"
#include "platform/assert.h"

namespace logjam {

struct Stripes {
  uint32_t devices = 1;
  uint64_t bytes = kStripeBytes;  // the length of a stripe

  // Returns the device that has the byte at `position`.
  uint32_t device(uint64_t position) const {
    return devices == 1 ? 0 : static_cast<uint32_t>(position / bytes % devices);
  }
  // Returns the offset of the byte at `position` in its device's file.
  uint64_t file_offset(uint64_t position) const {
    if (devices == 1) return kLogHeaderBytes + position;
    return kLogHeaderBytes + position / bytes / devices * bytes + position % bytes;
  }
  // Returns the offset in the device's file at which the device's share of the stream before
  // `position` ends.
  uint64_t file_end(uint32_t device, uint64_t position) const {
    if (devices == 1) return kLogHeaderBytes + position;
    const uint64_t stripe = position / bytes, row = stripe / devices, last = stripe % devices;
    const uint64_t of_row = device < last ? bytes : device == last ? position % bytes : 0;
    return kLogHeaderBytes + row * bytes + of_row;
  }
  // Returns the end of the stripe in which `position` lies.
  uint64_t stripe_end(uint64_t position) const {
    return devices == 1 ? ~uint64_t{0} : position - position % bytes + bytes;
  }
  // Returns the position of the device's first byte.
  uint64_t first(uint32_t device) const { return device * bytes; }
  // Returns the position of a device's next byte, if the device has all its bytes before `end`.
  uint64_t next(uint64_t end) const {
    return devices == 1 || end % bytes != 0 ? end : end + (devices - 1) * bytes;
  }
  // Returns the position after the last byte that `device` has, if its file has `file_bytes` bytes.
  uint64_t stream_end(uint32_t device, uint64_t file_bytes) const {
    const uint64_t held = file_bytes < kLogHeaderBytes ? 0 : file_bytes - kLogHeaderBytes;
    if (devices == 1 || held == 0) return held;
    return position(device, file_bytes - 1) + 1;
  }
  // Returns the position of the byte at `file_offset` of the device's file.
  uint64_t position(uint32_t device, uint64_t file_offset) const {
    LJ_ASSERT(file_offset >= kLogHeaderBytes && device < devices);
    const uint64_t at = file_offset - kLogHeaderBytes;
    return devices == 1 ? at : (at / bytes * devices + device) * bytes + at % bytes;
  }
};

}  // namespace logjam
