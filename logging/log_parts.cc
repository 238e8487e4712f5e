#include "logging/log_parts.h"

#include <array>
#include <vector>

#include "platform/flag_list.h"

namespace logjam {
namespace {

using platform::ListKey;

constexpr double kMostPatienceUs = 1000, kMostPace = 1000;

// The parts as keys of a list. A part is missing where its number is 0.
struct PartNumber {
  ListKey key;
  double number;
};
std::array<PartNumber, 5> numbers_of(const LogParts& parts) {
  return {{{{"unlock", 1, 1}, parts.unlock ? 1.0 : 0},
           {{"chunks", 1, 1}, parts.chunks ? 1.0 : 0},
           {{"patience", 1, kMostPatienceUs}, static_cast<double>(parts.patience_us)},
           {{"pace", 1, kMostPace}, static_cast<double>(parts.pace)},
           {{"rounds", 1, 1}, parts.rounds ? 1.0 : 0}}};
}

}  // namespace

std::string text_of(const LogParts& parts) {
  std::string text;
  for (const auto& [key, number] : numbers_of(parts)) {
    if (number == 0) continue;
    text += (text.empty() ? "" : ",") + std::string(key.name);
    if (key.most > 1) text += ":" + std::to_string(static_cast<uint64_t>(number));
  }
  return text.empty() ? "none" : text;
}

std::string check_log_parts(std::string_view text, std::string_view scheme,
                            const LogParts& possible) {
  if (text == "none") return "";
  std::vector<ListKey> keys = {{"all", 1, 1}};
  for (const auto& [key, number] : numbers_of(possible)) keys.push_back(key);
  if (std::string why = platform::check_list("log_parts", text, keys); !why.empty()) return why;
  for (const auto& [key, number] : numbers_of(possible)) {
    if (number != 0 || platform::listed(text, key.name) == 0) continue;
    return "--log_parts=" + std::string(text) + ": --log=" + std::string(scheme) +
           " cannot have the part " + std::string(key.name) + "; of all parts it can have " +
           text_of(possible);
  }
  return "";
}

LogParts log_parts_of(std::string_view text, const LogParts& own, const LogParts& possible) {
  if (text.empty()) return own;
  const LogParts base = platform::listed(text, "all") != 0 ? possible : LogParts{};
  const auto number = [&](const char* key, uint32_t otherwise) {
    return static_cast<uint32_t>(platform::listed(text, key, otherwise));
  };
  return {.unlock = number("unlock", base.unlock ? 1 : 0) != 0,
          .chunks = number("chunks", base.chunks ? 1 : 0) != 0,
          .patience_us = number("patience", base.patience_us),
          .pace = number("pace", base.pace),
          .rounds = number("rounds", base.rounds ? 1 : 0) != 0};
}

}  // namespace logjam
