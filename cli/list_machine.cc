// `logjam list machine` and `logjam list placement`.
#include <gflags/gflags.h>

#include <cstdio>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "cli/json.h"
#include "cli/placement.h"
#include "cli/row_files.h"
#include "cli/settings.h"
#include "cli/table.h"
#include "platform/fatal.h"
#include "platform/host.h"
#include "platform/limits.h"
#include "platform/placement.h"
#include "platform/text.h"

DEFINE_string(topology, "",
              "another machine for `list machine` and `list placement`; as hwloc describes it "
              "(lstopo-no-graphics --of synthetic), such as \"pack:4 numa:1 core:16 pu:2\"");
DECLARE_string(json);
DECLARE_uint32(threads);

namespace logjam {
namespace {

using platform::HardwareContext;
using platform::Placement;
using platform::Topology;

Topology wanted_topology() {
  if (FLAGS_topology.empty()) return platform::this_machine();
  const auto described = Topology::described(FLAGS_topology);
  if (!described) {
    platform::refuse(
        "--topology=\"" + FLAGS_topology +
        "\" is not a synthetic topology of hwloc, such as \"pack:4 numa:1 core:16 pu:2\"");
  }
  return *described;
}

using Members = std::vector<std::pair<std::string, std::string>>;

std::string context_json(const HardwareContext& context) {
  return json_object({{"number", std::to_string(context.number)},
                      {"socket", std::to_string(context.socket)},
                      {"node", std::to_string(context.node)},
                      {"core", std::to_string(context.core)},
                      {"sibling", std::to_string(context.sibling)}});
}

void print_json(const std::string& name, const Members& members) {
  claim_json_file();
  append_json(json_object({{name, json_object(members)}}));
}

std::vector<platform::PlacementPolicy> wanted_policies() {
  if (!gflags::GetCommandLineFlagInfoOrDie("placement").is_default) return {placement_policy()};
  return {std::begin(platform::kPlacementPolicies), std::end(platform::kPlacementPolicies)};
}

}  // namespace

int list_machine() {
  const Topology machine = wanted_topology();
  if (!FLAGS_json.empty()) {
    std::vector<std::string> contexts;
    for (const HardwareContext& context : machine.contexts()) {
      contexts.push_back(context_json(context));
    }
    print_json("machine", {{"sockets", std::to_string(machine.sockets())},
                           {"nodes", std::to_string(machine.nodes())},
                           {"cores", std::to_string(machine.cores())},
                           {"contexts", json_array(contexts)}});
    return 0;
  }
  struct Part {
    std::set<int> cores, numbers;
  };
  std::map<std::pair<int, int>, Part> parts;  // by socket and node
  for (const HardwareContext& context : machine.contexts()) {
    Part& part = parts[{context.socket, context.node}];
    part.cores.insert(context.core);
    part.numbers.insert(context.number);
  }
  std::vector<Line> lines = {{"SOCKET", "NODE", "CORES", "CONTEXTS", "NUMBERED"}};
  for (const auto& [where, part] : parts) {
    lines.push_back({std::to_string(where.first), std::to_string(where.second),
                     std::to_string(part.cores.size()), std::to_string(part.numbers.size()),
                     platform::ranges_of({part.numbers.begin(), part.numbers.end()})});
  }
  print_table(lines);
  const platform::Limit quota = platform::processor_quota();
  if (FLAGS_topology.empty() && !platform::is_simulated() && !quota.by.empty()) {
    std::printf("%s gives this process %s processors\n", quota.by.c_str(),
                platform::short_number(quota.amount).c_str());
  }
  return 0;
}

int list_placement() {
  refuse_thread_count();
  const Topology machine = wanted_topology();
  Members members;
  std::vector<Line> lines(1 + FLAGS_threads);
  lines[0] = {"WORKER"};
  for (uint32_t worker = 0; worker < FLAGS_threads; ++worker) {
    lines[1 + worker] = {std::to_string(worker)};
  }
  for (const platform::PlacementPolicy policy : wanted_policies()) {
    const Placement placement(machine, policy, FLAGS_threads);
    std::vector<std::string> contexts;
    lines[0].push_back(std::string(platform::name_of(policy)) + ": SOCKET CORE SIBLING NUMBER");
    for (uint32_t worker = 0; worker < FLAGS_threads; ++worker) {
      const HardwareContext& context = placement.of(worker);
      contexts.push_back(context_json(context));
      lines[1 + worker].push_back(
          std::to_string(context.socket) + " " + std::to_string(context.core) + " " +
          std::to_string(context.sibling) + " " + std::to_string(context.number));
    }
    members.emplace_back(platform::name_of(policy), json_array(contexts));
  }
  FLAGS_json.empty() ? print_table(lines) : print_json("placement", members);
  return 0;
}

}  // namespace logjam
