// The project's own rules about its sources, as functions of a path and a text, so that they can
// be tested on planted lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace logjam::lint {

struct Finding {
  std::string path;
  size_t line = 0;  // from 1; 0: the whole file
  std::string what;
};
std::string to_string(const Finding& finding);

// C++ without its comments and (unless kept) the insides of its string and character literals;
// line breaks stay, so that line numbers do.
enum class Literals { kBlank, kKeep };
std::string strip(std::string_view code, Literals literals);

// All rules that apply to `path` (relative to the root, "cc/occ.cc"). `schemes`: the names that
// engine/ and cc/ must not know.
std::vector<Finding> check(const std::string& path, const std::string& text,
                           const std::vector<std::string_view>& schemes);

}  // namespace logjam::lint
