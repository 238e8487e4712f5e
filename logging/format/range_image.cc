#include "logging/format/range_image.h"

#include <bit>
#include <cstring>
#include <experimental/simd>

#include "logging/format/record.h"
#include "platform/assert.h"

namespace logjam {
namespace {

struct RangeHeader {
  uint16_t offset, length;
};
static_assert(sizeof(RangeHeader) == 4);

constexpr uint32_t kWord = sizeof(uint64_t);

uint64_t difference(const std::byte* before, const std::byte* after) {
  uint64_t old_word, new_word;
  std::memcpy(&old_word, before, kWord);
  std::memcpy(&new_word, after, kWord);
  return old_word ^ new_word;
}

// A block is as long as a vector of this processor: one comparison for all of its bytes. Most
// blocks are equal in both rows.
using Block = std::experimental::native_simd<unsigned char>;
constexpr uint32_t kBlock = Block::size();
static_assert(kBlock % kWord == 0);

bool block_differs(const std::byte* before, const std::byte* after) {
  const auto load = [](const std::byte* from) {
    return Block(reinterpret_cast<const unsigned char*>(from), std::experimental::element_aligned);
  };
  return std::experimental::any_of(load(before) != load(after));
}

}  // namespace

uint32_t encode_ranges(uint64_t version, const std::byte* before, const std::byte* after,
                       uint32_t row_bytes, std::byte* image) {
  constexpr uint32_t kMostRowBytes = 65535;
  if (row_bytes <= sizeof version || row_bytes > kMostRowBytes) return 0;
  std::memcpy(image, &version, sizeof version);
  uint32_t used = sizeof version;
  uint32_t begin = 0, end = 0;  // the last range, not written yet; none if begin == end
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
  // Adds the bytes that differ in the word at `at` to the last range, or begins a range.
  const auto add = [&](uint32_t at, uint64_t differs) {
    const uint32_t first = at + static_cast<uint32_t>(std::countr_zero(differs)) / 8;
    const uint32_t past = at + kWord - static_cast<uint32_t>(std::countl_zero(differs)) / 8;
    // Joins two ranges if the bytes between them take no more space than a header.
    if (begin == end || first - end > sizeof(RangeHeader)) {
      if (!write()) return false;
      begin = first;
    }
    end = past;
    return true;
  };
  const auto add_words = [&](uint32_t at, uint32_t past) {
    for (; at < past; at += kWord) {
      const uint64_t differs = difference(before + at, after + at);
      if (differs != 0 && !add(at, differs)) return false;
    }
    return true;
  };
  uint32_t at = 0;
  for (; at + kBlock <= row_bytes; at += kBlock) {
    if (block_differs(before + at, after + at) && !add_words(at, at + kBlock)) return 0;
  }
  if (!add_words(at, row_bytes / kWord * kWord)) return 0;
  if (const uint32_t rest = row_bytes % kWord; rest != 0) {
    at = row_bytes - kWord;  // some bytes of this word were compared above
    const uint64_t differs = difference(before + at, after + at) >> 8 * (kWord - rest)
                                                                        << 8 * (kWord - rest);
    if (differs != 0 && !add(at, differs)) return 0;
  }
  return write() && padded_row(used) < padded_row(row_bytes) ? used : 0;
}

RangeImage::RangeImage(std::span<const std::byte> image) : left_(image) {
  LJ_ASSERT(image.size() >= sizeof version_);
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
