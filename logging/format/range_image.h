// A range image: the image of a write that holds only the changed bytes of the row.
//
//   range image := version u64, range*
//   range       := offset u16, length u16, the row's new bytes [length]
//
// `version` is the sequence number of the row's previous writer, or 0 if no transaction of the run
// has written the row. Ranges apply only to this version of the row. They do not overlap, and their
// offsets ascend. There is no range if the write changed no byte.
//
// Any thread may call any function. One thread at a time may use an object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace logjam {

struct Range {
  uint16_t offset;  // in the row
  uint16_t length;
  const std::byte* bytes;  // borrowed from the image
};

// Writes the range image of a change from `before` to `after` into `image`, which has space for
// `row_bytes` bytes. Returns the image's length, or 0 if the image would not be shorter than the
// row. Then the caller logs the row. No thread may change either row during the call.
uint32_t encode_ranges(uint64_t version, const std::byte* before, const std::byte* after,
                       uint32_t row_bytes, std::byte* image);

// Iterates over the ranges of a range image, which outlives this object.
class RangeImage {
 public:
  explicit RangeImage(std::span<const std::byte> image);
  uint64_t version() const { return version_; }
  // Sets `range` to the next range. Returns false at the end, or if the image is not well_formed().
  bool next(Range* range);
  bool well_formed() const { return well_formed_; }

 private:
  uint64_t version_ = 0;
  std::span<const std::byte> left_;
  bool well_formed_ = true;
};

// Applies the ranges to the row. Returns false if they do not fit, or the image is not
// well_formed().
bool apply_ranges(RangeImage image, std::byte* row, uint32_t row_bytes);

}  // namespace logjam
