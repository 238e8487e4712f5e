#include "tests/fuzz/target.h"

#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "logging/format/text_block.h"

namespace logjam::fuzz {

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what.c_str());
  std::abort();
}

[[gnu::weak]] void free_arenas() {}

uint64_t Parts::number(size_t bytes) {
  const Input taken = take(bytes);
  uint64_t number = 0;
  if (!taken.empty()) std::memcpy(&number, taken.data(), taken.size());
  return number;
}

Input Parts::take(size_t bytes) {
  const Input taken = left_.first(std::min(bytes, left_.size()));
  left_ = left_.subspan(taken.size());
  return taken;
}

std::string_view Parts::line() {
  const std::string_view text = text_of(left_);
  const size_t end = std::min(text.find('\n'), text.size());
  take(end + 1);
  return text.substr(0, end);
}

void mend_text_block(std::vector<std::byte>& input, size_t begin) {
  constexpr std::string_view kEnd = "end ";
  const std::string_view text = text_of(input).substr(std::min(begin, input.size()));
  const size_t found = text.find("\nend ");
  std::string body(text.substr(0, found == text.npos ? text.size() : found + 1));
  std::string rest;
  if (found != text.npos) {
    const size_t line = text.find('\n', found + 1);
    if (line != text.npos) rest = text.substr(line + 1);
  } else if (!body.ends_with('\n')) {
    body += '\n';
  }
  body += std::string(kEnd) + hex(XXH3_64bits(body.data(), body.size())) + "\n" + rest;
  input.resize(begin);
  const Input bytes = bytes_of(body);
  input.insert(input.end(), bytes.begin(), bytes.end());
}

}  // namespace logjam::fuzz
