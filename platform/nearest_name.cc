#include "platform/nearest_name.h"

#include <algorithm>
#include <cctype>

#include "platform/text.h"

namespace logjam::platform {
namespace {

std::string small_letters(std::string_view text) {
  std::string small(text);
  for (char& letter : small) letter = static_cast<char>(std::tolower(letter));
  return small;
}

size_t distance(size_t one, size_t other) { return std::max(one, other) - std::min(one, other); }

// Returns how many letters of the name `a` are missing, superfluous, wrong, or swapped with their
// neighbour, compared with the name `b`. Returns `most` if there are at least as many.
size_t differences(const std::string& a, const std::string& b, size_t most) {
  // Element j of the three vectors is the number of differences of the first i, i - 1 or i - 2
  // letters of `a` from the first j letters of `b`.
  std::vector<size_t> least(b.size() + 1), before(least), earlier(least);
  for (size_t i = 0; i <= a.size(); ++i) {
    earlier.swap(before);
    before.swap(least);
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        least[j] = i + j;
        continue;
      }
      const size_t wrong = before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      least[j] = std::min({before[j] + 1, least[j - 1] + 1, wrong});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        least[j] = std::min(least[j], earlier[j - 2] + 1);
      }
    }
  }
  return std::min(least.back(), most);
}

}  // namespace

std::string_view nearest_name(std::string_view given, const std::vector<std::string_view>& names) {
  if (names.empty()) return "";
  constexpr size_t kLettersOfADifference = 3, kShortestBeginning = 3;
  const std::string small = small_letters(given);
  const auto allowed = [&](size_t letters) {
    return given.size() == 1 ? 0 : std::max(size_t{1}, letters / kLettersOfADifference);
  };
  const size_t longest = std::ranges::max(names, {}, &std::string_view::size).size();
  size_t different = allowed(std::max(given.size(), longest)) + 1;
  std::string_view nearest;
  for (std::string_view name : names) {
    if (distance(given.size(), name.size()) >= different) continue;
    const size_t found = differences(small, small_letters(name), different);
    if (found < different) {
      different = found;
      nearest = name;
    }
  }
  const size_t letters = std::max(given.size(), nearest.size());
  if (!nearest.empty() && different <= allowed(letters)) return nearest;
  const auto begins = [&](std::string_view name) {
    const std::string other = small_letters(name);
    const bool short_one = std::min(small.size(), other.size()) < kShortestBeginning;
    return !short_one && (other.starts_with(small) || small.starts_with(other));
  };
  if (std::ranges::count_if(names, begins) != 1) return "";
  return *std::ranges::find_if(names, begins);
}

std::string instead_of(std::string_view given, const std::vector<std::string_view>& names) {
  const std::string_view nearest = nearest_name(given, names);
  if (!nearest.empty()) return "; did you mean " + std::string(nearest) + "?";
  return (names.size() == 1 ? "; allowed is " : "; allowed are ") + listed_names(names);
}

std::string listed_names(const std::vector<std::string_view>& names) {
  if (names.size() < 2) return join(names, "");
  const std::vector<std::string_view> first(names.begin(), names.end() - 1);
  return join(first, ", ") + " and " + std::string(names.back());
}

}  // namespace logjam::platform
