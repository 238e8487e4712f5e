// Names that are similar to a name that does not exist. Any thread may call these functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace logjam::platform {

// Returns the name that is most similar to `given`, without regard to capitals: a name that differs
// in few letters, or the only name that begins with `given`, or with which `given` begins. Returns
// an empty text if no name is similar.
std::string_view nearest_name(std::string_view given, const std::vector<std::string_view>& names);

// Returns the end of a sentence that says that `given` is none of `names`: "; did you mean NAME?",
// or "; allowed are A, B and C" if no name is similar.
std::string instead_of(std::string_view given, const std::vector<std::string_view>& names);

// Returns `names` as "A, B and C".
std::string listed_names(const std::vector<std::string_view>& names);

}  // namespace logjam::platform
