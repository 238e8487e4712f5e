#include "cli/diagnostics.h"

namespace logjam {

std::string revision() { return LOGJAM_REVISION; }

std::string version() { return LOGJAM_VERSION; }

}  // namespace logjam
