#include "platform/fatal.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace logjam::platform {

void fatal(const std::string& sentence, int exit_code) {
  std::fflush(stdout);
  std::fprintf(stderr, "logjam: %s\n", sentence.c_str());
  std::_Exit(exit_code);
}

void refuse(const std::string& sentence) { fatal(sentence, kExitBadInput); }

}  // namespace logjam::platform
