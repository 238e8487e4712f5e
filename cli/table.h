// A table for people: columns as wide as their widest cell. The main thread prints it.
#pragma once

#include <string>
#include <vector>

namespace logjam {

using Line = std::vector<std::string>;

// The first line is the heading; all have as many cells. An empty line follows the table.
void print_table(const std::vector<Line>& lines);

}  // namespace logjam
