#include "platform/assert.h"

#include <cstdio>
#include <cstdlib>

namespace logjam::platform {

void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "logjam: %s:%d: assertion failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace logjam::platform
