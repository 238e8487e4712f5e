// Names that are similar to a name that does not exist. Any thread may call these functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace logjam::platform {

// Returns the name that is most similar to `given`, without regard to capitals. A similar name
// differs in few letters, or is the only name that begins with `given` or with which `given`
// begins. Returns an empty text if no name is similar.
std::string_view nearest_name(std::string_view given, const std::vector<std::string_view>& names);

// Returns how a sentence ends that rejects `given`: with "; did you mean NAME?", or with "; allowed
// are A, B and C" if no name is similar.
std::string instead_of(std::string_view given, const std::vector<std::string_view>& names);

// Returns `names` as "A, B and C".
std::string listed_names(const std::vector<std::string_view>& names);

}  // namespace logjam::platform
