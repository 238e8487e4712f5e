// Where the bytes of a stream lie that is striped over several files, one for each device. Stripe s
// belongs to device s % devices, and lies behind the earlier stripes of that device. With one
// device the stream lies in its file as it is. Positions are those of the stream, in bytes. Any
// thread may call any function.
#pragma once

#include <cstdint>

#include "logging/format/log_file.h"

namespace logjam {

struct Stripes {
  uint32_t devices = 1;
  uint64_t bytes = kStripeBytes;  // the length of a stripe

  // Returns the device that has the byte at `position`, and that byte's offset in the device's
  // file.
  uint32_t device(uint64_t position) const {
    return devices == 1 ? 0 : static_cast<uint32_t>(position / bytes % devices);
  }
  uint64_t file_offset(uint64_t position) const {
    if (devices == 1) return kLogHeaderBytes + position;
    return kLogHeaderBytes + position / bytes / devices * bytes + position % bytes;
  }
  // Returns the offset in the device's file behind all that the device has of the stream before
  // `position`.
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
  // first() returns the position of the device's first byte. next() returns the position of a
  // device's next byte, when the device has all its bytes before `end`.
  uint64_t first(uint32_t device) const { return device * bytes; }
  uint64_t next(uint64_t end) const {
    return devices == 1 || end % bytes != 0 ? end : end + (devices - 1) * bytes;
  }
  // Returns the position behind the last byte that `device` has, if its file has `file_bytes`
  // bytes.
  uint64_t stream_end(uint32_t device, uint64_t file_bytes) const {
    const uint64_t held = file_bytes < kLogHeaderBytes ? 0 : file_bytes - kLogHeaderBytes;
    if (devices == 1 || held == 0) return held;
    return position(device, file_bytes - 1) + 1;
  }
  // Returns the position of the byte that is at `file_offset` of the device's file, behind its
  // header.
  uint64_t position(uint32_t device, uint64_t file_offset) const {
    const uint64_t at = file_offset - kLogHeaderBytes;
    return devices == 1 ? at : (at / bytes * devices + device) * bytes + at % bytes;
  }
};

}  // namespace logjam
