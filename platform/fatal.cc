#include "platform/fatal.h"

#include <glog/logging.h>

#include <cstdio>
#include <cstdlib>

namespace logjam::platform {

void fatal(const std::string& sentence, int exit_code) {
  std::fflush(stdout);
  google::FlushLogFiles(google::INFO);  // when glog was told to write files, its lines wait there
  std::fprintf(stderr, "logjam: %s\n", sentence.c_str());
  std::_Exit(exit_code);
}

void refuse(const std::string& sentence) { fatal(sentence, kExitBadInput); }

}  // namespace logjam::platform
