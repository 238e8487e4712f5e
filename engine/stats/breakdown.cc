#include "engine/stats/breakdown.h"

#include <glog/logging.h>

namespace logjam {

std::string_view name_of(Activity activity) {
  switch (activity) {
    case Activity::kWork:
      return "work";
    case Activity::kLockWait:
      return "lock_wait";
    case Activity::kLogContention:
      return "log_contention";
    case Activity::kSpaceWait:
      return "space_wait";
    case Activity::kLogWork:
      return "log_work";
    case Activity::kFlushWait:
      return "flush_wait";
    case Activity::kIdle:
      return "idle";
    case Activity::kCount:
      break;
  }
  LOG(FATAL) << "activity " << static_cast<int>(activity) << " has no name";
}

}  // namespace logjam
