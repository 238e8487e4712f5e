// A range image holds the bytes that a write changes. If it is applied to the version that it
// names, the result is the new row. Images that contradict themselves are refused.
#include "logging/format/range_image.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "logging/format/record.h"

namespace logjam {
namespace {

using Bytes = std::vector<std::byte>;

constexpr uint64_t kVersion = 0x1122334455667788;

Bytes random_row(std::mt19937_64& random, size_t bytes) {
  Bytes row(bytes);
  for (std::byte& b : row) b = static_cast<std::byte>(random());
  return row;
}

// Returns the range image, or nothing if the whole row is to be logged. The buffers have exactly
// the allowed length, so AddressSanitizer detects accesses outside them.
Bytes encoded(const Bytes& before, const Bytes& after) {
  Bytes image(after.size());
  image.resize(encode_ranges(kVersion, before.data(), after.data(),
                             static_cast<uint32_t>(after.size()), image.data()));
  image.shrink_to_fit();
  return image;
}

std::vector<std::pair<uint32_t, uint32_t>> ranges_of(const Bytes& image) {
  std::vector<std::pair<uint32_t, uint32_t>> all;
  RangeImage walk(image);
  for (Range range; walk.next(&range);) all.emplace_back(range.offset, range.length);
  EXPECT_TRUE(walk.well_formed());
  return all;
}

TEST(RangeImage, MakesTheNewRowOfTheOldOne) {
  std::mt19937_64 random(1);
  uint64_t images = 0;
  for (int round = 0; round < 20000; ++round) {
    const Bytes before = random_row(random, random() % 400);
    Bytes after = before;
    for (uint64_t changes = random() % 6; changes > 0 && !after.empty(); --changes) {
      const size_t at = random() % after.size();
      for (size_t i = at; i < std::min(after.size(), at + random() % 12); ++i) {
        after[i] = static_cast<std::byte>(random());
      }
    }
    const Bytes image = encoded(before, after);
    if (image.empty()) continue;
    ++images;
    EXPECT_EQ(RangeImage(image).version(), kVersion);
    EXPECT_LT(padded_row(static_cast<uint32_t>(image.size())),
              padded_row(static_cast<uint32_t>(after.size())));
    Bytes row = before;
    ASSERT_TRUE(apply_ranges(RangeImage(image), row.data(), static_cast<uint32_t>(row.size())));
    ASSERT_EQ(row, after);
    uint32_t end = 0;
    for (const auto& [offset, length] : ranges_of(image)) {
      EXPECT_GE(offset, end);
      EXPECT_GT(length, 0u);
      end = offset + length;
    }
  }
  EXPECT_GT(images, 10000u);
}

TEST(RangeImage, HoldsEachChangedByteAndItsNeighboursIfTheyAreFewerThanAHeader) {
  const Bytes before(64);
  const auto with = [&](std::initializer_list<size_t> changed) {
    Bytes after = before;
    for (const size_t at : changed) after[at] = std::byte{1};
    return encoded(before, after);
  };
  using Ranges = std::vector<std::pair<uint32_t, uint32_t>>;
  EXPECT_EQ(ranges_of(with({})), Ranges{});
  EXPECT_EQ(with({}).size(), 8u) << "the version alone";
  EXPECT_EQ(ranges_of(with({0})), (Ranges{{0, 1}}));
  EXPECT_EQ(ranges_of(with({63})), (Ranges{{63, 1}}));
  EXPECT_EQ(ranges_of(with({7, 8})), (Ranges{{7, 2}}));
  EXPECT_EQ(ranges_of(with({7, 12})), (Ranges{{7, 6}})) << "4 bytes between them";
  EXPECT_EQ(ranges_of(with({7, 13})), (Ranges{{7, 1}, {13, 1}})) << "5 bytes between them";
}

TEST(RangeImage, IsNotMadeIfTheRowIsNoLonger) {
  std::mt19937_64 random(2);
  const Bytes before = random_row(random, 40);
  EXPECT_EQ(encoded(before, random_row(random, 40)).size(), 0u);
  Bytes after = before;
  for (size_t at = 0; at < 40; at += 6) after[at] ^= std::byte{1};
  EXPECT_EQ(encoded(before, after).size(), 0u) << "one range of 37 bytes and its headers";
  const Bytes short_row(8);
  EXPECT_EQ(encoded(short_row, short_row).size(), 0u);
  const Bytes long_row(65536);
  EXPECT_EQ(encoded(long_row, long_row).size(), 0u) << "an offset has 16 bits";
  const Bytes longest(65535);
  EXPECT_EQ(encoded(longest, longest).size(), 8u);
}

TEST(RangeImage, ThatDoesNotFitTheRowIsRefused) {
  Bytes before(64), after(64);
  after[60] = std::byte{1};
  const Bytes image = encoded(before, after);
  EXPECT_TRUE(apply_ranges(RangeImage(image), before.data(), 61));
  EXPECT_FALSE(apply_ranges(RangeImage(image), before.data(), 60));
  for (size_t bytes = 9; bytes < image.size(); ++bytes) {
    const Bytes part(image.begin(), image.begin() + static_cast<ptrdiff_t>(bytes));
    EXPECT_FALSE(apply_ranges(RangeImage(part), before.data(), 64)) << bytes;
  }
}

}  // namespace
}  // namespace logjam
