#include "logging/log_config.h"

#include "platform/assert.h"
#include "platform/thread.h"

namespace logjam {

uint32_t LogConfig::socket_of(uint32_t worker) const {
  LJ_ASSERT(sockets != 0);
  const bool real = sockets == static_cast<uint32_t>(platform::socket_count());
  const int core = static_cast<int>(worker);
  if (real) return static_cast<uint32_t>(platform::socket_of_core(core)) % sockets;
  return static_cast<uint32_t>(uint64_t{worker} * sockets / workers);
}

}  // namespace logjam
