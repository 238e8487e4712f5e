// The simulated machine as the rooms above see it: the contexts that take part, and one memory node
// for each socket.
#include <numeric>
#include <string>
#include <vector>

#include "platform/fatal.h"
#include "platform/text.h"
#include "platform/topology.h"
#include "sim/machine/machine.h"

namespace logjam::platform {
namespace {

Topology topology_of(const sim::Machine& machine) {
  const auto sockets = static_cast<int>(machine.profile.sockets),
             cores = static_cast<int>(machine.profile.cores),
             contexts = static_cast<int>(machine.profile.contexts);
  // Machine counts all cores before the first sibling; hwloc counts core by core, with its
  // siblings.
  std::string numbers;
  for (int core = 0; core < sockets * cores; ++core) {
    for (int sibling = 0; sibling < contexts; ++sibling) {
      append_part(&numbers, ",", std::to_string(sibling * sockets * cores + core));
    }
  }
  std::vector<int> used(machine.contexts);
  std::iota(used.begin(), used.end(), 0);
  const std::string description = "pack:" + std::to_string(sockets) +
                                  " numa:1 core:" + std::to_string(cores) +
                                  " pu:" + std::to_string(contexts) + "(indexes=" + numbers + ")";
  const auto described = Topology::described(description, used);
  if (!described) fatal("hwloc does not understand " + description);
  return *described;
}

}  // namespace

const Topology& this_machine() {
  static const Topology topology = topology_of(sim::machine());
  return topology;
}

}  // namespace logjam::platform
