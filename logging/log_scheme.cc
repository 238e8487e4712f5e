#include "logging/log_scheme.h"

namespace logjam {

void WaitSide::wait_durable(uint32_t worker, const CommitPoint& point) {
  while (!is_durable(point)) waiters_.park(worker, point, safety_timeout_ns_);
}

}  // namespace logjam
