#include "cli/diagnostics.h"

namespace logjam {

std::string revision() { return LOGJAM_REVISION; }

}  // namespace logjam
