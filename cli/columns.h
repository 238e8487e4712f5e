// The table of all columns of rows, with the meaning of each. `logjam help columns` and
// docs/OUTPUT.md are made from it. A test compares it with the rows of all commands.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace logjam {

struct RowColumn {
  std::string_view name;      // a `*` stands for any text, as in commit_*_us
  std::string_view commands;  // whose rows have the column, with spaces between them
  std::string_view says;
};

// Returns all columns, in the order in which a row has them.
std::span<const RowColumn> all_columns();

// Returns whether the table has this column for rows of `command`.
bool knows_column(std::string_view command, std::string_view name);

// Returns the table as Markdown. `logjam help columns` prints it like that, too.
std::string column_table();

}  // namespace logjam
