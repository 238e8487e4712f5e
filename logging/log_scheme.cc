#include "logging/log_scheme.h"

#include <glog/logging.h>

namespace logjam {

LogScheme::LogScheme(const LogConfig& config)
    : traits_(config.traits),
      run_(config.run),
      safety_timeout_ns_(config.safety_timeout_ns),
      waiters_(config.workers, *this) {}

void LogScheme::draw_number(uint32_t, const Dependencies&) {
  LOG(FATAL) << "this scheme draws its numbers with the holes";
}

void LogScheme::abandon(uint32_t) { LOG(FATAL) << "this scheme has no draw_number()"; }

void LogScheme::wait_durable(uint32_t worker, const CommitPoint& point) {
  while (!is_durable(point)) waiters_.park(worker, point, safety_timeout_ns_);
}

}  // namespace logjam
