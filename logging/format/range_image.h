// The image of a write that holds only the bytes of a row that it changes.
//
//   range image := version u64, range*
//   range       := offset u16, length u16, the row's new bytes [length]
//
// `version` is the sequence number of the row's previous writer, or 0 if no transaction of the run
// has written the row: the ranges change exactly that version. The ranges do not overlap, and their
// offsets grow. There is none if the write left all bytes as they were.
//
// Any thread may call any function. One thread uses an object.
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

// Writes the range image of a write that changes `before` to `after` at `image`, which has room for
// `row_bytes` bytes. Returns its length, or 0 if the row is no longer than that: then log the row
// itself. No thread may change either row during the call.
uint32_t encode_ranges(uint64_t version, const std::byte* before, const std::byte* after,
                       uint32_t row_bytes, std::byte* image);

// Walks a range image, which outlives the object.
class RangeImage {
 public:
  explicit RangeImage(std::span<const std::byte> image);
  uint64_t version() const { return version_; }
  // Fills `range`. Returns false at the end, or if the image contradicts itself (well_formed()).
  bool next(Range* range);
  bool well_formed() const { return well_formed_; }

 private:
  uint64_t version_ = 0;
  std::span<const std::byte> left_;
  bool well_formed_ = true;
};

// Changes the row. Returns false if the image contradicts itself or does not fit the row.
bool apply_ranges(RangeImage image, std::byte* row, uint32_t row_bytes);

}  // namespace logjam
