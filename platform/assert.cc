#include "platform/assert.h"

#include <cstdio>
#include <cstdlib>

namespace logjam::platform {

void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "logjam: %s:%d: assertion failed: %s\n", file, line, condition);
  std::abort();
}

void contract_broken(const std::string& sentence) {
  std::fprintf(stderr, "logjam: %s\n", sentence.c_str());
  std::abort();
}

}  // namespace logjam::platform
