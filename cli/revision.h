// The revision of the source that this binary was built from.
#pragma once

#include <string>

namespace logjam {

// Returns the git revision, with "-dirty" at its end if the tree had uncommitted changes.
std::string revision();

}  // namespace logjam
