#include "platform/fatal.h"

#include <glog/logging.h>

#include <cstdio>
#include <cstdlib>

#include "platform/text.h"

namespace logjam::platform {

void fatal(const std::string& sentence, int exit_code) {
  LJ_ASSERT(!sentence.empty() && exit_code != 0);
  std::fflush(stdout);
  google::FlushLogFiles(google::INFO);  // if glog writes to files, it buffers lines
  std::fprintf(stderr, "logjam: %s\n", without_control_characters(sentence).c_str());
  std::_Exit(exit_code);
}

}  // namespace logjam::platform
