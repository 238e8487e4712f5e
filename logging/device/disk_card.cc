#include "logging/device/disk_card.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <span>
#include <utility>

#include "platform/assert.h"
#include "platform/files.h"
#include "platform/text.h"

namespace logjam {
namespace {

constexpr double kMostUs = 1e9;
constexpr uint64_t kMostBytes = uint64_t{1} << 30;
constexpr uint64_t kMostFileBytes = uint64_t{1} << 20;
constexpr size_t kLastHundredth = 99;  // the quantile of the share 0.99

// Takes the text up to the next space, and the space, off `text`.
std::string_view take_word(std::string_view* text) {
  const std::string_view word = text->substr(0, text->find(' '));
  text->remove_prefix(std::min(text->size(), word.size() + 1));
  return word;
}

bool take_us(std::string_view* text, double* us) {
  const std::string_view word = take_word(text);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *us);
  return error == std::errc{} && end == word.data() + word.size() && *us >= 0 && *us <= kMostUs;
}

// Reads the value of a line `curve=`. Returns false, with `*curve` undefined, if it is none.
bool parse(std::string_view text, DiskCard::Curve* curve) {
  if (!parse_number(take_word(&text), 10, &curve->bytes) || curve->bytes == 0 ||
      curve->bytes > kMostBytes) {
    return false;
  }
  if (!parse_number(take_word(&text), 10, &curve->depth) || curve->depth > DiskCard::kMostDepth) {
    return false;
  }
  if (!take_us(&text, &curve->mean_us)) return false;
  for (double& us : curve->us) {
    if (!take_us(&text, &us)) return false;
  }
  return text.empty() && std::ranges::is_sorted(curve->us) && curve->mean_us >= curve->us.front() &&
         curve->mean_us <= curve->us.back();
}

std::string text_of(const DiskCard::Curve& curve) {
  std::string text = std::to_string(curve.bytes) + " " + std::to_string(curve.depth) + " " +
                     platform::shortest(curve.mean_us);
  for (const double us : curve.us) text += " " + platform::shortest(us);
  return text;
}

// Returns the value at `x` of the function that `value(i)` gives at points[i], in ascending order:
// straight lines between two points, constant before the first, and proportional to `x` after the
// last.
template <class Value>
double along(std::span<const uint64_t> points, uint64_t x, Value value) {
  const auto above = static_cast<size_t>(std::ranges::lower_bound(points, x) - points.begin());
  if (above == points.size()) {
    return value(above - 1) * static_cast<double>(x) / static_cast<double>(points.back());
  }
  if (above == 0 || points[above] == x) return value(above);
  const double part = static_cast<double>(x - points[above - 1]) /
                      static_cast<double>(points[above] - points[above - 1]);
  return value(above - 1) * (1 - part) + value(above) * part;
}

}  // namespace

double DiskCard::share_of(size_t quantile) {
  LJ_ASSERT(quantile < kQuantiles);
  if (quantile == kQuantiles - 1) return 1;
  const auto i = static_cast<double>(quantile);
  return quantile <= kLastHundredth ? i * 0.01 : 0.99 + (i - kLastHundredth) * 0.001;
}

double DiskCard::Curve::at(double share) const {
  LJ_ASSERT(share >= 0 && share <= 1);
  constexpr size_t kLast = kQuantiles - 2;  // the slowest thousandth begins here
  size_t above = 1;
  while (above <= kLast && share_of(above) < share) ++above;
  const double begin = share_of(above - 1), part = (share - begin) / (share_of(above) - begin);
  const double low = us[above - 1], high = us[above];
  if (above <= kLast || high == low) return low + (high - low) * part;
  // low + (high - low) * part ^ power has the mean low + (high - low) / (power + 1).
  constexpr double kMostPower = 1000;
  double others = 0;  // the faster writes' part of the mean
  for (size_t i = 1; i <= kLast; ++i) {
    others += (share_of(i) - share_of(i - 1)) * (us[i] + us[i - 1]) / 2;
  }
  const double mean = (mean_us - others) / (1 - begin);
  const double power =
      mean <= low ? kMostPower : std::min(kMostPower, (high - mean) / (mean - low));
  return low + (high - low) * std::pow(part, std::max(0.0, power));
}

DiskCard::DiskCard(KeyValues facts, std::vector<Curve> curves)
    : facts_(std::move(facts)), curves_(std::move(curves)) {
  const std::string why = check();
  LJ_ASSERT(why.empty());
}

// Sets the sizes and depths of the grid. Returns why the curves form none, or an empty string.
std::string DiskCard::check() {
  if (curves_.empty()) return "it has no point";
  sizes_.clear();
  depths_.clear();
  for (const Curve& curve : curves_) {
    if (curve.bytes == curves_.front().bytes) depths_.push_back(curve.depth);
  }
  if (depths_.size() < 2 || depths_[0] != 0 || depths_[1] != 1 ||
      !std::ranges::is_sorted(depths_, std::less_equal{})) {
    return "its depths do not begin with 0 and 1, or are not in order";
  }
  constexpr const char* other_depths = "its sizes do not have the same depths";
  if (curves_.size() % depths_.size() != 0) return other_depths;
  for (size_t i = 0; i < curves_.size(); ++i) {
    if (i % depths_.size() == 0) sizes_.push_back(curves_[i].bytes);
    if (curves_[i].bytes != sizes_.back() || curves_[i].depth != depths_[i % depths_.size()]) {
      return other_depths;
    }
  }
  return std::ranges::is_sorted(sizes_, std::less_equal{}) ? "" : "its sizes are not in order";
}

std::string DiskCard::encode() const {
  KeyValues lines = facts_;
  for (const Curve& curve : curves_) lines.emplace_back("curve", text_of(curve));
  return encode_text_block(kFirstLine, lines);
}

std::string DiskCard::decode(std::string_view text) {
  KeyValues lines;
  if (std::string why = decode_text_block(text, kFirstLine, "it", &lines); !why.empty()) return why;
  facts_.clear();
  curves_.clear();
  for (auto& [key, value] : lines) {
    if (key != "curve") {
      facts_.emplace_back(key, value);
    } else if (!parse(value, &curves_.emplace_back())) {
      return "its point " + std::to_string(curves_.size()) + " is not BYTES DEPTH MEAN and " +
             std::to_string(kQuantiles) + " times in ascending order";
    }
  }
  return check();
}

std::string DiskCard::read(const std::string& path) {
  std::string text;
  const int error = platform::read_file(path, &text, kMostFileBytes);
  if (error != 0) return "cannot read the card " + path + ": " + platform::error_text(error);
  const std::string why = decode(text);
  return why.empty() ? "" : path + " is not a card: " + why;
}

std::string_view DiskCard::fact(std::string_view key) const {
  const auto found = std::ranges::find(facts_, key, &KeyValues::value_type::first);
  return found == facts_.end() ? std::string_view() : found->second;
}

std::string DiskCard::title() const {
  std::string title;
  for (const char* key : {"disk", "disk_model", "file_system", "sync"}) {
    if (const std::string_view value = fact(key); !value.empty()) {
      platform::append_part(&title, ", ", value);
    }
  }
  const std::string text = encode();
  const size_t end = text.rfind("end ");
  platform::append_part(&title, ", ", "card " + text.substr(end + 4, text.size() - end - 5));
  return title;
}

double DiskCard::us(uint64_t bytes, uint32_t under_way, bool one_call, double share) const {
  LJ_ASSERT(under_way != 0 && !curves_.empty());
  const double us = along(sizes_, bytes, [&](size_t size) {
    const Curve* const curves = &curves_[size * depths_.size()];
    if (one_call && under_way == 1) return curves[0].at(share);
    return along(std::span(depths_).subspan(1), under_way,
                 [&](size_t depth) { return curves[1 + depth].at(share); });
  });
  return std::min(us, kMostUs);
}

}  // namespace logjam
