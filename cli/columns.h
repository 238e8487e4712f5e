// The one table of what each column of a row says, from which `logjam help columns` and
// docs/OUTPUT.md are made. A test holds the rows of all commands against it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace logjam {

struct Column {
  std::string_view name;      // a `*` stands for any text, as in commit_*_us
  std::string_view commands;  // those whose rows have it, with spaces between them
  std::string_view says;
};

// Returns all columns, in the order in which a row has them.
std::span<const Column> all_columns();

// Returns whether the column of that name in a row of `command` is in the table.
bool knows_column(std::string_view command, std::string_view name);

// Returns the table as Markdown, which is also what the terminal gets.
std::string column_table();

}  // namespace logjam
