#include "workloads/log_insert/record_sizes.h"

#include <algorithm>
#include <charconv>
#include <random>
#include <string_view>

namespace logjam::log_insert {
namespace {

constexpr uint32_t kOutlierEvery = 60;
constexpr size_t kRound = 64 * kOutlierEvery;
constexpr uint32_t kMostBytes = 1 << 26;
constexpr std::string_view kDistribution = "dist:";
constexpr std::string_view kAether = "40,264,120";

std::string check(const std::string& what, uint32_t bytes) {
  if (bytes >= 8 && bytes % 8 == 0 && bytes <= kMostBytes) return "";
  return what + " " + std::to_string(bytes) + " is not a multiple of 8 from 8 to " +
         std::to_string(kMostBytes);
}

// Returns the numbers of `text`, separated by commas. Returns no number if `text` has another form.
std::vector<uint32_t> numbers(std::string_view text) {
  std::vector<uint32_t> all;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    uint32_t number = 0;
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc{}) return {};
    all.push_back(number);
    if (stop == end) return all;
    if (*stop != ',') return {};
    at = stop + 1;
  }
}

}  // namespace

std::string RecordSizes::parse(const std::string& given, uint64_t seed) {
  const bool two_peaks = given.starts_with(kDistribution);
  const size_t colon = given.find(':', two_peaks ? kDistribution.size() : 0);
  spec = given.substr(0, colon);
  const std::vector<uint32_t> outlier =
      colon == given.npos ? std::vector<uint32_t>{0} : numbers(given.substr(colon + 1));
  std::string_view text = spec;
  if (two_peaks) text.remove_prefix(kDistribution.size());
  const std::vector<uint32_t> sizes = numbers(two_peaks && text.empty() ? kAether : text);
  if (sizes.size() != (two_peaks ? 3 : 1) || outlier.size() != 1) {
    return "--record_bytes=" + given +
           " is neither a number of bytes nor dist: nor dist:SMALL,LARGE,MEAN, nor one of these "
           "and :OUTLIER";
  }
  for (size_t i = 0; i < std::min<size_t>(sizes.size(), 2); ++i) {
    if (std::string why = check("--record_bytes:", sizes[i]); !why.empty()) return why;
  }
  outlier_bytes = outlier[0];
  if (colon != given.npos) {
    if (std::string why = check("--record_bytes: the outlier", outlier_bytes); !why.empty()) {
      return why;
    }
  }

  bytes.assign(kRound, sizes[0]);
  if (two_peaks) {
    const uint32_t small = sizes[0], large = sizes[1], mean = sizes[2];
    if (!(small < large && small <= mean && mean <= large)) {
      return "--record_bytes=" + spec + " needs SMALL < LARGE and a MEAN between them";
    }
    const auto many = kRound * (mean - small) / (large - small);
    std::fill_n(bytes.begin(), many, large);
    std::shuffle(bytes.begin(), bytes.end(), std::mt19937_64(seed));
  }
  std::mt19937_64 random(seed);
  for (size_t i = 0; outlier_bytes != 0 && i < kRound; i += kOutlierEvery) {
    bytes[i + random() % kOutlierEvery] = outlier_bytes;
  }
  return "";
}

uint32_t RecordSizes::largest() const { return *std::ranges::max_element(bytes); }
uint32_t RecordSizes::smallest() const { return *std::ranges::min_element(bytes); }

}  // namespace logjam::log_insert
