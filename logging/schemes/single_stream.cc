#include "logging/schemes/single_stream.h"

namespace logjam {

SingleStream::SingleStream(const LogConfig& config, uint64_t max_write_bytes)
    : LsnScheme(config.workers) {
  if (config.devices.empty()) return;
  stream_ = std::make_unique<Stream>(
      config, 0, *this, [this] { return filled(); }, max_write_bytes);
}

}  // namespace logjam
