// Rules for the English of comments, help texts and documents: phrases that a reader must read
// twice, and comments of functions that do not begin with a verb.
#pragma once

#include <string>
#include <vector>

#include "tests/style/lint.h"

namespace logjam::lint {

// Returns a finding for each line of `text` that has a banned phrase, and, in the program's own
// C++, for each comment right above a function that does not begin with a verb in the third person.
// A word that ends in "s" counts as such a verb, unless it is known to be none. `path` is relative
// to the root and decides which rules apply. Thread-safe.
std::vector<Finding> check_prose(const std::string& path, const std::string& text);

}  // namespace logjam::lint
