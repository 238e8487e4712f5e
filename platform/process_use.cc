#include "platform/process_use.h"

#include <sys/resource.h>

namespace logjam::platform {

ProcessUse process_use() {
  rusage u;
  getrusage(RUSAGE_SELF, &u);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return {seconds(u.ru_utime) + seconds(u.ru_stime), seconds(u.ru_stime),
          static_cast<uint64_t>(u.ru_nvcsw), static_cast<uint64_t>(u.ru_nivcsw)};
}

}  // namespace logjam::platform
