// The card of a disk: how long its synced writes took, by size and by the number of writes under
// way, and facts about the disk. `logjam device --cdf` writes the file, `sim:FILE` plays it.
//
// The file is a text block (logging/format/text_block.h). Each measured point is a line
// `curve=BYTES DEPTH MEAN QUANTILES...`, with times in microseconds and DEPTH 0 for a write in one
// call, alone. All other lines are facts, for people. Points form a grid: each size has the same
// depths, 0 and 1 among them. Any thread may call the const functions of a card.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "logging/format/text_block.h"
#include "platform/random.h"

namespace logjam {

class DiskCard {
 public:
  // The shares of a point's writes that its quantiles do not exceed: 0 to 0.99 by hundredths, to
  // 0.999 by thousandths, 1.
  static constexpr size_t kQuantiles = 110;
  static double share_of(size_t quantile);

  // The times of the writes of one size at one depth.
  struct Curve {
    uint64_t bytes = 0;
    uint32_t depth = 0;  // the number of writes under way; 0: one write, in one call
    double mean_us = 0;
    std::array<double, kQuantiles> us{};

    // Returns the time that the share `share` (0 to 1) of the writes does not exceed. The mean over
    // all shares is mean_us: the slowest thousandth rises to its end as steeply as that needs.
    double at(double share) const;
  };

  static constexpr std::string_view kFirstLine = "logjam card 1";
  static constexpr uint32_t kMostDepth = 64;

  // The curves form a grid, by size and then by depth (check()).
  DiskCard(KeyValues facts, std::vector<Curve> curves);
  DiskCard() = default;

  // Returns the text of the file.
  std::string encode() const;
  // Sets the card to that of `text` and returns an empty string, or returns the reason, worded to
  // follow "FILE is not a card: ".
  std::string decode(std::string_view text);
  // Sets the card to that of the file, or returns in one sentence why that cannot be done.
  std::string read(const std::string& path);

  // Returns the value of a fact, or "".
  std::string_view fact(std::string_view key) const;
  // Returns the disk, the sync method and the card's checksum.
  std::string title() const;

  // Returns the time in microseconds that the share `share` of such writes does not exceed.
  // `under_way` counts the write itself. Between two sizes, or two depths, the time is
  // interpolated. Above the largest, the time grows with the size or the depth: the disk is no
  // faster than measured. Below the smallest size, the time is that of the smallest. No time is
  // longer than 1e9.
  double us(uint64_t bytes, uint32_t under_way, bool one_call, double share) const;

 private:
  std::string check();

  KeyValues facts_;
  std::vector<Curve> curves_;
  std::vector<uint64_t> sizes_, depths_;  // of the grid
};

// The times of one device's writes: independent draws from a card, which follow from the seed. One
// thread at a time uses it.
class CardTimes {
 public:
  CardTimes(DiskCard card, uint64_t seed) : card_(std::move(card)), random_(seed) {}

  // Returns the time of the next write in microseconds (DiskCard::us).
  double next_us(uint64_t bytes, uint32_t under_way, bool one_call) {
    const double share = static_cast<double>(random_.next() >> 11) * 0x1p-53;  // below 1
    return card_.us(bytes, under_way, one_call, share);
  }

 private:
  DiskCard card_;
  platform::SplitMix64 random_;
};

}  // namespace logjam
