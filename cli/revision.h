// The revision of the source that this binary was built from.
#pragma once

#include <string>

namespace logjam {

// The git revision, with "-dirty" behind it if the tree had changes that were not committed.
std::string revision();

}  // namespace logjam
