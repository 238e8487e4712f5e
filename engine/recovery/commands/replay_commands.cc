#include "engine/recovery/commands/replay_commands.h"

#include <glog/logging.h>

#include <memory>
#include <vector>

#include "engine/recovery/commands/replayer.h"
#include "platform/clock.h"
#include "platform/thread.h"

namespace logjam {

std::string check_commands(const WorkloadInfo& workload, const SchemeInfo& scheme) {
  if (!scheme.traits.commands || workload.has_commands) return "";
  return "--log=" + std::string(scheme.name) +
         " logs commands, and --workload=" + std::string(workload.name) + " has none";
}

uint32_t replaying_threads(const ProtocolInfo& protocol, uint32_t threads) {
  return protocol.optimistic ? threads : 1;
}

RecoveryResult replay_commands(Workload& workload, Database& database, const LogFiles& files,
                               const RecoveryRule& rule, const ProtocolInfo& protocol,
                               uint32_t threads, double read_bytes_per_second) {
  RecoveryResult result;
  const uint64_t start = platform::now_ns();
  if (files.paths.size() != 1) {
    result.error =
        "a log of commands has one stream, this one has " + std::to_string(files.paths.size());
    return result;
  }
  DevicePaces paces(read_bytes_per_second);
  LogReader reader(files, 0, paces.of(files.paths[0]));
  result.error = reader.error();
  if (!result.error.empty()) return result;

  threads = replaying_threads(protocol, threads);
  CommandFeed feed(reader, threads);
  CommitOrder order(threads);
  Epochs epochs(threads);
  std::vector<std::unique_ptr<Replayer>> replayers;
  for (uint32_t id = 0; id < threads; ++id) {
    replayers.push_back(
        std::make_unique<Replayer>(id, workload, database, protocol, feed, order, epochs));
  }
  std::vector<platform::thread> running;
  running.emplace_back([&feed] { feed.read(); });
  for (auto& replayer : replayers) running.emplace_back([&replayer] { replayer->run(); });
  for (auto& thread : running) thread.join();
  uint64_t repeated = 0;
  for (const auto& replayer : replayers) repeated += replayer->repeated();
  VLOG(1) << repeated << " speculative executions had to be repeated";

  result.error = order.error();
  result.transactions = order.committed();
  result.records = feed.records();
  result.bytes = feed.bytes();
  result.tails = {reader.tail()};
  result.damage = find_damage(result.tails);
  result.cut = rule.cut(result.tails);
  result.seconds = static_cast<double>(platform::now_ns() - start) * 1e-9;
  return result;
}

}  // namespace logjam
