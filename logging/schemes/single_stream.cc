#include "logging/schemes/single_stream.h"

namespace logjam {

SingleStream::SingleStream(const LogConfig& config, uint64_t max_write_bytes)
    : LogScheme(config.workers) {
  if (config.devices.empty()) return;
  stream_ = std::make_unique<Stream>(
      config, 0, *this, [this] { return filled(); }, max_write_bytes);
}

// Under early lock release it may have read what is not durable yet; what it read last was logged
// after everything that this depends on.
Point SingleStream::observe(uint32_t, const Dependencies& deps) {
  return {.sequence = deps.max_read, .stream = 0};
}

Cut SingleStream::cut(const std::vector<StreamTail>& tails) const {
  return {.bytes = {tails[0].bytes}, .why = tails[0].why};
}

}  // namespace logjam
