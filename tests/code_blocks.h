// The code in this repository's pages, for tests that follow a page.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace logjam {

// Returns the root of the source tree.
inline std::filesystem::path root() {
  const char* given = std::getenv("LOGJAM_ROOT");
  return std::filesystem::absolute(given == nullptr ? "." : given);
}

// Returns the blocks of code below a heading of a page, without indentation. A block is indented by
// at least four columns more than its list item.
inline std::vector<std::string> code_blocks(const std::string& page, const std::string& heading) {
  std::ifstream file(root() / page);
  std::string line;
  while (std::getline(file, line) && line != heading) {
  }
  std::vector<std::string> blocks;
  size_t indentation = 0;  // the indentation of the present block; 0 outside a block
  std::string blank;       // blank lines, which belong to the block if the block continues
  while (std::getline(file, line) && !line.starts_with("## ")) {
    const size_t spaces = std::min(line.find_first_not_of(' '), line.size());
    if (line.empty()) {
      blank += "\n";
    } else if (indentation != 0 && spaces >= indentation) {
      blocks.back() += blank + line.substr(indentation) + "\n";
      blank.clear();
    } else {
      indentation = spaces < 4 ? 0 : spaces;
      if (indentation != 0) blocks.push_back(line.substr(indentation) + "\n");
      blank.clear();
    }
  }
  return blocks;
}

}  // namespace logjam
