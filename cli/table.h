// A table for people: columns as wide as their widest cell. The main thread prints it.
#pragma once

#include <string>
#include <vector>

namespace logjam {

using Line = std::vector<std::string>;

// Prints the table, and an empty line after it. The first line is the heading. All lines have the
// same number of cells.
void print_table(const std::vector<Line>& lines);

}  // namespace logjam
