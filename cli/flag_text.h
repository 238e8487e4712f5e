// Checks of the flags as they are typed, before gflags reads them: its own messages have another
// form, and end the process with another status.
#pragma once

#include <string>
#include <vector>

namespace logjam {

// Refuses flags that no part of the program knows, and says what has become of an old flag, or
// which flag has the nearest name. Refuses values that are missing or are not of the flag's type.
// Does the same for the lines of flag files. `arguments` are those after the program's name.
// Changes no flag. The main thread calls it.
void refuse_bad_flags(const std::vector<std::string>& arguments);

}  // namespace logjam
