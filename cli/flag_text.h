// Checks of the command line before gflags reads it, because the messages of gflags have another
// form, and end the process with another status.
#pragma once

#include <string>
#include <vector>

namespace logjam {

// Refuses unknown flags, and says which flag has the most similar name. Refuses values that are
// missing or are not of the flag's type. Does the same for the lines of flag files. `arguments` are
// the arguments after the program's name. Changes no flag. The main thread calls it.
void refuse_bad_flags(const std::vector<std::string>& arguments);

}  // namespace logjam
