// Names that flags had in earlier versions, and names of flags that only the other build has.
#pragma once

#include <string>
#include <string_view>

namespace logjam {

// Returns a sentence that says what has become of the flag `name`, or an empty string if there
// never was such a flag. Any thread may call it.
std::string what_became_of(std::string_view name);

}  // namespace logjam
