#include "logging/stream/stream_home.h"

#include <set>

namespace logjam {
namespace {

bool writes_to(uint32_t stream, uint32_t worker, const LogConfig& config, Writers writers) {
  const auto streams = static_cast<uint32_t>(config.devices.size()) / config.stripes;
  switch (writers) {
    case Writers::kRoundRobin:
      return worker % streams == stream;
    case Writers::kOfSocket:
      return config.socket_of(worker) == stream;
    case Writers::kAll:
      return true;
  }
  return true;
}

}  // namespace

StreamHome home_of(const LogConfig& config, uint32_t stream, Writers writers) {
  StreamHome home;
  std::set<int> sockets, nodes;
  for (uint32_t worker = 0; worker < config.workers; ++worker) {
    if (!writes_to(stream, worker, config, writers)) continue;
    ++home.writers;
    if (!config.pinned_workers) continue;
    sockets.insert(platform::socket_of_core(static_cast<int>(worker)));
    nodes.insert(platform::node_of_core(static_cast<int>(worker)));
  }
  if (home.writers == 0 && writers == Writers::kRoundRobin) home.writers = config.workers;
  if (sockets.size() == 1) home.socket = *sockets.begin();
  if (nodes.size() == 1) home.node = *nodes.begin();
  return home;
}

}  // namespace logjam
