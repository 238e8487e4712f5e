// The texts of `logjam help`, `logjam --help` and `logjam COMMAND --help`.
#pragma once

#include <string>

#include "cli/flags.h"

namespace logjam {

// Returns what the commands do.
std::string overview();
// Returns the flags of a command that are used most, a line each: one screen.
std::string help_of(Commands command);
// Returns all flags of a command, in groups under headings: the commands', then those of each log
// scheme and each workload, then those of the libraries that are of use. A scheme's or a workload's
// group follows from the path of its file, so a new one is listed nowhere.
std::string full_help_of(Commands command);

}  // namespace logjam
