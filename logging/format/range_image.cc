#include "logging/format/range_image.h"

#include <bit>
#include <cstring>

#include "logging/format/record.h"

namespace logjam {
namespace {

struct RangeHeader {
  uint16_t offset, length;
};
static_assert(sizeof(RangeHeader) == 4);

// Returns the bits in which the two rows differ in their bytes from `at` on, at most 8.
uint64_t difference(const std::byte* before, const std::byte* after, uint32_t at, uint32_t bytes) {
  uint64_t old_word = 0, new_word = 0;
  if (bytes >= sizeof(uint64_t)) {
    std::memcpy(&old_word, before + at, sizeof(uint64_t));
    std::memcpy(&new_word, after + at, sizeof(uint64_t));
  } else {
    std::memcpy(&old_word, before + at, bytes);
    std::memcpy(&new_word, after + at, bytes);
  }
  return old_word ^ new_word;
}

// Most bytes of a row do not change. Vector instructions compare this many in one go.
constexpr uint32_t kBlock = 64;
bool same_block(const std::byte* before, const std::byte* after) {
  uint64_t old_words[kBlock / 8], new_words[kBlock / 8], differs = 0;
  std::memcpy(old_words, before, kBlock);
  std::memcpy(new_words, after, kBlock);
  for (uint32_t i = 0; i < kBlock / 8; ++i) differs |= old_words[i] ^ new_words[i];
  return differs == 0;
}

}  // namespace

uint32_t encode_ranges(uint64_t version, const std::byte* before, const std::byte* after,
                       uint32_t row_bytes, std::byte* image) {
  constexpr uint32_t kMostRowBytes = 65535;
  if (row_bytes <= sizeof version || row_bytes > kMostRowBytes) return 0;
  std::memcpy(image, &version, sizeof version);
  uint32_t used = sizeof version;
  uint32_t begin = 0, end = 0;  // of the last range, which is not written yet; none if equal
  const auto write = [&] {
    if (begin == end) return true;
    const uint32_t length = end - begin;
    if (used + sizeof(RangeHeader) + length > row_bytes) return false;
    const RangeHeader header{static_cast<uint16_t>(begin), static_cast<uint16_t>(length)};
    std::memcpy(image + used, &header, sizeof header);
    std::memcpy(image + used + sizeof header, after + begin, length);
    used += sizeof header + length;
    return true;
  };
  for (uint32_t at = 0; at < row_bytes; at += sizeof(uint64_t)) {
    while (at % kBlock == 0 && row_bytes - at >= kBlock && same_block(before + at, after + at)) {
      at += kBlock;
    }
    if (at >= row_bytes) break;
    const uint64_t differs = difference(before, after, at, row_bytes - at);
    if (differs == 0) continue;
    const uint32_t first = at + static_cast<uint32_t>(std::countr_zero(differs)) / 8;
    const uint32_t past = at + 8 - static_cast<uint32_t>(std::countl_zero(differs)) / 8;
    // The bytes between two ranges are written if a header would be as long.
    if (begin == end || first - end > sizeof(RangeHeader)) {
      if (!write()) return 0;
      begin = first;
    }
    end = past;
  }
  return write() && padded_row(used) < padded_row(row_bytes) ? used : 0;
}

RangeImage::RangeImage(std::span<const std::byte> image) : left_(image) {
  std::memcpy(&version_, image.data(), sizeof version_);
  left_ = left_.subspan(sizeof version_);
}

bool RangeImage::next(Range* range) {
  if (left_.empty()) return false;
  RangeHeader header;
  if (left_.size() < sizeof header) return well_formed_ = false;
  std::memcpy(&header, left_.data(), sizeof header);
  left_ = left_.subspan(sizeof header);
  if (left_.size() < header.length) {
    left_ = {};
    return well_formed_ = false;
  }
  *range = {header.offset, header.length, left_.data()};
  left_ = left_.subspan(header.length);
  return true;
}

bool apply_ranges(RangeImage image, std::byte* row, uint32_t row_bytes) {
  Range range;
  while (image.next(&range)) {
    if (uint32_t{range.offset} + range.length > row_bytes) return false;
    std::memcpy(row + range.offset, range.bytes, range.length);
  }
  return image.well_formed();
}

}  // namespace logjam
