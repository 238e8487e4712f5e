// Where the bytes of a stream lie that is striped over several files, its *lanes*: stripe s belongs
// to lane s % lanes and lies behind that lane's earlier stripes. With one lane the stream lies in
// its file as it is.
#pragma once

#include <cstdint>

#include "logging/log_file.h"

namespace logjam {

struct Stripes {
  uint32_t lanes = 1;
  uint64_t bytes = kStripeBytes;

  uint32_t lane(uint64_t position) const {
    return lanes == 1 ? 0 : static_cast<uint32_t>(position / bytes % lanes);
  }
  uint64_t file_offset(uint64_t position) const {
    if (lanes == 1) return kLogHeaderBytes + position;
    return kLogHeaderBytes + position / bytes / lanes * bytes + position % bytes;
  }
  // The end of the stripe in which `position` lies.
  uint64_t stripe_end(uint64_t position) const {
    return lanes == 1 ? ~uint64_t{0} : position - position % bytes + bytes;
  }
  // A lane's first byte, and its next when it has all up to `end`.
  uint64_t first(uint32_t lane) const { return lane * bytes; }
  uint64_t next(uint64_t end) const {
    return lanes == 1 || end % bytes != 0 ? end : end + (lanes - 1) * bytes;
  }
  // Behind the last byte of the stream that is in `lane` if its file has `file_bytes`.
  uint64_t stream_end(uint32_t lane, uint64_t file_bytes) const {
    const uint64_t held = file_bytes < kLogHeaderBytes ? 0 : file_bytes - kLogHeaderBytes;
    if (lanes == 1 || held == 0) return held;
    const uint64_t last = held - 1;
    return (last / bytes * lanes + lane) * bytes + last % bytes + 1;
  }
};

}  // namespace logjam
