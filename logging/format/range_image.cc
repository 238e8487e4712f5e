#include "logging/format/range_image.h"

#include <bit>
#include <cstring>

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

// Returns a bit for each of the first `words` words, which is set if `before` and `after` differ in
// the word. Most words are equal in both rows, so this search must cost little for each word.
constexpr uint32_t kBlockWords = 8;
uint32_t changed_words(const std::byte* before, const std::byte* after, uint32_t words) {
  uint32_t changed = 0;
  for (uint32_t i = 0; i < words; ++i) {
    changed |= uint32_t{difference(before + i * kWord, after + i * kWord) != 0} << i;
  }
  return changed;
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
  const uint32_t words = row_bytes / kWord;
  for (uint32_t word = 0; word < words; word += kBlockWords) {
    const std::byte *old_block = before + word * kWord, *new_block = after + word * kWord;
    uint32_t changed = words - word >= kBlockWords
                           ? changed_words(old_block, new_block, kBlockWords)
                           : changed_words(old_block, new_block, words - word);
    for (; changed != 0; changed &= changed - 1) {
      const uint32_t at = (word + static_cast<uint32_t>(std::countr_zero(changed))) * kWord;
      if (!add(at, difference(before + at, after + at))) return 0;
    }
  }
  if (const uint32_t rest = row_bytes % kWord; rest != 0) {
    const uint32_t at = row_bytes - kWord;  // some bytes of this word were compared above
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
