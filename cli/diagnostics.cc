#include "cli/diagnostics.h"

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <csignal>
#include <cstdlib>

namespace logjam {

void start_diagnostics(const char* program) {
  // glog converts to local time for each line. Without TZ, glibc reads the time zone's file again
  // each time, under a lock that ThreadSanitizer cannot see.
  setenv("TZ", ":/etc/localtime", 0);
  // As the default: a value would be one of the flags that were set, which a CSV row lists.
  gflags::SetCommandLineOptionWithMode("logtostderr", "true", gflags::SET_FLAGS_DEFAULT);
  google::InitGoogleLogging(program);
  google::InstallFailureSignalHandler();
  std::signal(SIGTERM, SIG_DFL);  // glog traces it too, but a request to end is no failure
}

}  // namespace logjam
