#pragma once

#include <string>

namespace logjam {

// The git revision this binary was built from, "-dirty" if the tree had changes.
std::string revision();

}  // namespace logjam
