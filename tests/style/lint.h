// The project's own rules about its sources, as functions of a path and a text, so that they can
// be tested on planted lines.
#pragma once

#include <map>
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

// Returns `code` (C++) with spaces in place of its comments and, unless kept, of the contents of
// its string and character literals. Line breaks stay, so line numbers do not change.
enum class Literals { kBlank, kKeep };
std::string strip(std::string_view code, Literals literals);

// The floors of tests/style/floors.txt, from the bottom up. A floor is a list of path prefixes.
using Floors = std::vector<std::vector<std::string>>;
Floors read_floors(const std::string& text);

// The flags of gflags, by name, with the path of the file that defines each. If several files
// define a flag, the path is that of the file on the lowest floor.
using Flags = std::map<std::string, std::string>;
// Adds the flags that `text` defines.
void find_flags(const std::string& path, const std::string& text, const Floors& floors,
                Flags* flags);

// Checks `text` against all rules that apply to `path` (relative to the root, "cc/occ.cc").
// `schemes`: the names of schemes, which engine/ and cc/ must not contain.
std::vector<Finding> check(const std::string& path, const std::string& text,
                           const std::vector<std::string_view>& schemes, const Floors& floors,
                           const Flags& flags);

}  // namespace logjam::lint
