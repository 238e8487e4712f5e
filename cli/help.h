// The texts of `logjam help`, `logjam --help` and `logjam COMMAND --help`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/flags.h"

namespace logjam {

// Returns a line about each command.
std::string overview();
// Returns the flags of a command that are used most, a line for each. They fit on one screen.
std::string help_of(Commands command);
// Returns all flags of a command, in groups under headings: first the groups of flag_groups(), then
// one for each log scheme and each workload, then the useful flags of the libraries. The path of a
// flag's file gives the group, so a new scheme or workload needs no entry in a table.
std::string full_help_of(Commands command);

// Returns the flags of the libraries that full_help_of() shows.
std::span<const std::string_view> flags_of_libraries();

}  // namespace logjam
