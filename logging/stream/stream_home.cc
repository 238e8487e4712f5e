#include "logging/stream/stream_home.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace logjam {
namespace {

std::vector<uint32_t> writers_of(uint32_t stream, const LogConfig& config, Writers writers) {
  const auto streams = static_cast<uint32_t>(config.devices.size()) / config.stripes;
  std::vector<uint32_t> all(config.workers);
  std::iota(all.begin(), all.end(), 0);
  if (writers == Writers::kAll) return all;
  const std::vector<uint32_t> dealt = streams_of_workers(config, streams);
  std::erase_if(all, [&](uint32_t worker) {
    return (writers == Writers::kOfSocket ? config.socket_of(worker) : dealt[worker]) != stream;
  });
  return all;
}

}  // namespace

std::vector<uint32_t> streams_of_workers(const LogConfig& config, uint32_t streams) {
  std::vector<uint32_t> near(config.workers), stream_of(config.workers);
  std::iota(near.begin(), near.end(), 0);
  if (streams >= config.workers) return near;
  if (!config.pinned_workers) {
    for (const uint32_t worker : near) stream_of[worker] = worker % streams;
    return stream_of;
  }
  std::ranges::stable_sort(near, {}, [&](uint32_t worker) { return config.socket_of(worker); });
  for (uint32_t i = 0; i < config.workers; ++i) stream_of[near[i]] = i * streams / config.workers;
  return stream_of;
}

StreamHome home_of(const LogConfig& config, uint32_t stream, Writers writers) {
  StreamHome home;
  std::set<int> sockets, nodes;
  for (const uint32_t worker : writers_of(stream, config, writers)) {
    ++home.writers;
    if (!config.pinned_workers) continue;
    sockets.insert(platform::socket_of_core(static_cast<int>(worker)));
    nodes.insert(platform::node_of_core(static_cast<int>(worker)));
  }
  if (home.writers == 0 && writers == Writers::kDealt) home.writers = config.workers;
  if (sockets.size() == 1) home.socket = *sockets.begin();
  if (nodes.size() == 1) home.node = *nodes.begin();
  return home;
}

}  // namespace logjam
