#include "cli/offered_rate.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "platform/fatal.h"
#include "platform/files.h"
#include "platform/text.h"

namespace logjam {
namespace {

constexpr std::string_view kProfile = "profile:", kThink = "think_us:";
// At the lowest rate, the nanoseconds until a worker's next transaction still fit in 64 bits.
constexpr double kLeastPerSecond = 1e-3, kMostPerSecond = 1e9;
constexpr double kMostSeconds = 1e9, kMostThinkUs = 1e9;

bool offered(double rate) { return rate >= kLeastPerSecond && rate <= kMostPerSecond; }

// Takes a number and the blanks before it from the begin of `line`.
std::optional<double> take_number(std::string_view* line) {
  line->remove_prefix(std::min(line->find_first_not_of(" \t"), line->size()));
  double value = 0;
  const char* const end = line->data() + line->size();
  const auto [rest, error] = std::from_chars(line->data(), end, value);
  if (error != std::errc{}) return std::nullopt;
  *line = {rest, static_cast<size_t>(end - rest)};
  return value;
}

// Returns the number after `prefix` in `given`, or nothing if `given` is anything else.
std::optional<double> number_after(std::string_view prefix, std::string_view given) {
  if (!given.starts_with(prefix)) return std::nullopt;
  given.remove_prefix(prefix.size());
  const auto number = take_number(&given);
  return given.empty() ? number : std::nullopt;
}

// Adds the step of a line to `steps`. Returns what is wrong with the line, or "".
std::string add_step(std::string_view line, std::vector<RateStep>* steps) {
  const auto from = take_number(&line);
  const auto rate = from ? take_number(&line) : std::nullopt;
  if (!rate || line.find_first_not_of(" \t\r") != line.npos) return "is not SECONDS RATE";
  if (steps->empty() && *from != 0) return "begins after 0 s: the first line says the first rate";
  if (!(*from >= 0 && *from <= kMostSeconds)) return "has a time that is not from 0 to 1e9 s";
  if (!steps->empty() && *from <= steps->back().from_seconds) {
    return "is not later than the line before it";
  }
  if (*rate != 0 && !offered(*rate)) return "has a rate that is neither 0 nor from 0.001 to 1e9";
  steps->push_back({.from_seconds = *from, .per_second = *rate});
  return "";
}

}  // namespace

std::string check_rate(const std::string& given) {
  if (given.starts_with(kProfile)) return "";
  const auto rate = number_after("", given), think_us = number_after(kThink, given);
  if (rate && (*rate == 0 || offered(*rate))) return "";
  if (think_us && *think_us >= 0 && *think_us <= kMostThinkUs) return "";
  return "--rate=" + given +
         " is neither a number without a unit, 0 or from 0.001 to 1e9, nor think_us:N with N from "
         "0 to 1e9, nor profile:FILE";
}

uint64_t think_ns_of(const std::string& given) {
  return static_cast<uint64_t>(number_after(kThink, given).value_or(0) * 1e3);
}

std::vector<RateStep> rates_of(const std::string& given) {
  std::vector<RateStep> steps;
  if (!given.starts_with(kProfile)) {
    const double rate = number_after("", given).value_or(0);
    if (rate != 0) steps.push_back({.from_seconds = 0, .per_second = rate});
    return steps;
  }
  const std::string path = given.substr(kProfile.size());
  std::string text;
  if (const int error = platform::read_file(path, &text); error != 0) {
    platform::refuse("cannot read --rate=" + given + ": " + platform::error_text(error));
  }
  size_t number = 0;
  for (std::string_view left = text; !left.empty();) {
    const std::string_view whole = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(whole.size() + 1, left.size()));
    const std::string_view line = whole.substr(0, whole.find('#'));
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    if (const auto wrong = add_step(line, &steps); !wrong.empty()) {
      platform::refuse(path + ", line " + std::to_string(number) + ", \"" +
                       platform::without_control_characters(whole.substr(0, 80)) + "\", " + wrong);
    }
  }
  if (std::ranges::none_of(steps, [](const RateStep& step) { return step.per_second > 0; })) {
    platform::refuse(path + " has no line SECONDS RATE with a rate above 0");
  }
  return steps;
}

}  // namespace logjam
