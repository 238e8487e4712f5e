// Rules for pages (*.md): the paths, links, members of types, tests and flags that they name must
// exist.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/style/lint.h"

namespace logjam::lint {

// The names that a source tree has. Not thread-safe, because it keeps what it has looked up.
class TreeNames {
 public:
  // `files` maps the path of each file, relative to the root, to its text. Only the texts of C++
  // files and scripts count.
  explicit TreeNames(std::map<std::string, std::string> files);

  // Returns a finding for each name on a page that the tree does not have:
  //   - a path from the root, wherever it stands (`cc/occ.cc`), or the end of one in backticks
  //     (`occ.cc`, `storage/`). Paths with `<` or `*`, and those into which a command writes
  //     (`> cc/mine.cc`), are placeholders;
  //   - the target of a link, relative to the page's folder;
  //   - in backticks, `Type::member`: the file that declares the type, or one that declares a base
  //     of it, names the member;
  //   - in backticks, `Suite.Test`: a file of tests/ names both;
  //   - `--flag`: a C++ file or the page defines it, a script takes it, or another program has it.
  std::vector<Finding> check(const std::string& page, const std::string& text);

 private:
  bool has_path(const std::string& path) const;
  bool has_end_of_path(const std::string& end) const;
  std::string why_no_path(const std::string& word, bool in_code) const;
  std::string why_no_link(const std::string& page, std::string target) const;
  std::string why_no_member(const std::string& type, const std::string& member);
  std::string why_no_test(const std::string& suite, const std::string& test);
  std::string why_no_flag(const std::string& page_text, const std::string& flag) const;
  void find_types(const std::string& path);
  void find_arguments(const std::string& script);

  std::map<std::string, std::string> files_;
  std::set<std::string> folders_;
  std::set<std::string> flags_;
  std::map<std::string, std::set<std::string>> words_;  // of a file without comments and literals
  std::map<std::string, std::set<std::string>> declared_in_;  // the files of each type
  std::map<std::string, std::set<std::string>> bases_;
};

}  // namespace logjam::lint
