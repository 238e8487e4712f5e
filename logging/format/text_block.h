// Text of `key=value` lines with a checksum at the end, as in log file headers and manifests.
//
//   <first line>
//   key=value
//   ...
//   end <XXH3-64 of all lines before, in hex>
//
// A control character in a value, such as a line break, is written as a code, which is not decoded:
// only texts for people have such characters. Any thread may call any function.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace logjam {

using KeyValues = std::vector<std::pair<std::string, std::string>>;

std::string encode_text_block(std::string_view first_line, const KeyValues& lines);

// Fills `lines` from `text`, which begins with `first_line`, and returns an empty string. On
// failure returns the reason, worded to follow "PATH is not a log file: ", in which `what` names
// `text` ("its header"). Ignores text after the `end` line.
std::string decode_text_block(std::string_view text, std::string_view first_line,
                              std::string_view what, KeyValues* lines);

// Returns `value` in hex, without leading zeros.
std::string hex(uint64_t value);

// Reads all of `text` as a number. Returns false, with `*value` undefined, if it is no number.
template <class Number>
bool parse_number(std::string_view text, int base, Number* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value, base);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace logjam
