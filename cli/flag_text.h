// The flags as they are typed, before gflags reads them: its own complaints are of another form,
// and end the process with another status.
#pragma once

#include <string>
#include <vector>

namespace logjam {

// Refuses flags that no part of the program knows, and names the nearest flag that exists. Refuses
// values that are missing or are not of the flag's type. Does the same for the lines of flag files.
// `arguments` are those behind the program's name. Changes no flag. The main thread calls it.
void refuse_bad_flags(const std::vector<std::string>& arguments);

}  // namespace logjam
