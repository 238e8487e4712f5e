#include "logging/format/text_block.h"

#include <xxhash.h>

#include <algorithm>
#include <cctype>

#include "platform/assert.h"
#include "platform/text.h"

namespace logjam {

std::string hex(uint64_t value) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, value, 16).ptr;
  return std::string(digits, end);
}

std::string encode_text_block(std::string_view first_line, const KeyValues& lines) {
  LJ_ASSERT(first_line.find('\n') == first_line.npos);
  std::string text(first_line);
  text += '\n';
  for (const auto& [key, value] : lines) {
    LJ_ASSERT(key.find_first_of("=\n") == key.npos);
    text.append(key).append("=").append(platform::without_control_characters(value)).append("\n");
  }
  return text + "end " + hex(XXH3_64bits(text.data(), text.size())) + "\n";
}

std::string decode_text_block(std::string_view text, std::string_view first_line,
                              std::string_view what, KeyValues* lines) {
  const std::string it(what);
  if (!text.starts_with(std::string(first_line) + '\n')) {
    return "it does not start with \"" + std::string(first_line) + "\"";
  }
  const size_t end = text.find("\nend ");
  const size_t end_line = end == text.npos ? text.npos : text.find('\n', end + 1);
  if (end_line == text.npos) return it + " has no end";
  const std::string_view body = text.substr(0, end + 1);
  // The checksum is compared as text, not as a number: the letter "A" in place of "a" is a change.
  if (text.substr(end + 5, end_line - end - 5) != hex(XXH3_64bits(body.data(), body.size()))) {
    return it + " does not match its checksum";
  }
  lines->clear();
  for (size_t at = first_line.size() + 1; at < body.size();) {
    const size_t stop = body.find('\n', at);
    const std::string_view line = body.substr(at, stop - at);
    at = stop + 1;
    if (std::ranges::any_of(line, [](unsigned char c) { return std::iscntrl(c) != 0; })) {
      return it + " has a control character";
    }
    const size_t equals = line.find('=');
    if (equals == line.npos) return it + " has a line without \"=\"";
    lines->emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  return "";
}

}  // namespace logjam
