// Text of `key=value` lines with a checksum at the end: what the header of a log file and the
// metadata of a checkpoint are made of.
//
//   <first line>
//   key=value
//   ...
//   end <XXH3-64 of all lines before, in hex>
//
// In values `%` is written `%%` and a line break `%n`. Any thread may call any function.
#pragma once

#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace logjam {

using KeyValues = std::vector<std::pair<std::string, std::string>>;

// Returns the text of `lines` behind `first_line`, which has no line break.
std::string encode_text_block(std::string_view first_line, const KeyValues& lines);

// Fills `lines` from `text`, which begins with one of `first_lines`, and returns an empty string.
// Or returns why it cannot, as the words behind "PATH is not a log file: ". `what` names the text:
// "its header". What follows the last line does not count.
std::string decode_text_block(std::string_view text,
                              std::initializer_list<std::string_view> first_lines,
                              std::string_view what, KeyValues* lines);

// Returns `value` in hex, without leading zeros.
std::string hex(uint64_t value);

// Reads all of `text` as a number. Returns false if it is none, and leaves `*value` undefined.
template <class Number>
bool parse_number(std::string_view text, int base, Number* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value, base);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace logjam
