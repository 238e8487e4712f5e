#include "engine/protocol.h"

namespace logjam {

std::string_view name_of(AbortReason reason) {
  switch (reason) {
    case AbortReason::kLockBusy:
      return "lock_busy";
    case AbortReason::kDied:
      return "died";
    case AbortReason::kDeadlock:
      return "deadlock";
    case AbortReason::kValidation:
      return "validation";
    case AbortReason::kPhantom:
      return "phantom";
    case AbortReason::kCount:
      break;
  }
  return "unknown";
}

}  // namespace logjam
