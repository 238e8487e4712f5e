// The names that flags had in earlier versions, and the flags that only the simulated build has.
#pragma once

#include <string>
#include <string_view>

namespace logjam {

// Returns a sentence that says what has become of the flag `name`, or an empty string if there
// never was such a flag. Any thread may call it.
std::string what_became_of(std::string_view name);

}  // namespace logjam
