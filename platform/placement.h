// Which hardware context each thread of a run gets (--placement). "Core number i" is the i-th
// context of the run's placement, where worker i is pinned.
//
// Protocol. The main thread changes the placement, before it starts a thread that asks. Any thread
// may ask.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/topology.h"

namespace logjam::platform {

// Of a thread that belongs to no socket in particular.
inline constexpr int kNoSocket = -1;

enum class PlacementPolicy : uint8_t {
  // The cores of socket 0, then those of socket 1, ...; siblings when all cores are taken.
  kCompact,
  // The sockets by turns, and in each its nodes by turns; siblings when all cores are taken.
  kScatter,
  // Siblings next to each other, core by core, socket by socket.
  kSmt,
};
// All policies, in the order above.
inline constexpr PlacementPolicy kPlacementPolicies[] = {
    PlacementPolicy::kCompact, PlacementPolicy::kScatter, PlacementPolicy::kSmt};
std::string_view name_of(PlacementPolicy policy);
// The policy of that name, or nothing.
std::optional<PlacementPolicy> placement_policy(std::string_view name);

class Placement {
 public:
  // Every context of the topology once, in the order in which workers get them. `workers` is how
  // many of them the run has; 0: so many as there are contexts.
  Placement(const Topology& topology, PlacementPolicy policy, uint32_t workers = 0);

  // From now on the context that the kernel knows as `number` comes first, or last, and the others
  // keep their order in a circle; but no sibling comes before a free core. Returns false, and does
  // nothing, if there is no such context.
  bool begin_at(int number);
  bool end_at(int number);

  // The context of worker `index`. Workers beyond the contexts begin again with the first one.
  const HardwareContext& of(uint32_t index) const { return order_[index % order_.size()]; }
  const std::vector<HardwareContext>& order() const { return order_; }
  const Topology& topology() const { return topology_; }
  // The nodes on which workers run, in ascending order.
  std::vector<int> nodes_of_workers() const;
  // For people: "compact: workers 0-1 on socket 0 cores 0-1".
  std::string text() const;

 private:
  void rotate(size_t first);

  Topology topology_;
  PlacementPolicy policy_;
  uint32_t workers_;
  std::vector<HardwareContext> order_;
};

// "0-3,8,10-14:2": ranges of ascending numbers, with their step if that is not 1.
std::string ranges_of(const std::vector<int>& numbers);

// The placement of this process: before use_placement() the compact one on this machine.
const Placement& placement();
void use_placement(const Placement& chosen);

// Of this process's placement.

// The number of cores that this process may use, at least 1.
int core_count();
// The cores that this process may use, as the kernel counts them; core number i is the i-th.
std::vector<int> allowed_cores();
// The number of sockets on which these cores are, at least 1.
int socket_count();
// The socket, and the NUMA node, of core number `index`; both are counted from 0.
int socket_of_core(int index);
int node_of_core(int index);
// From now on number 0 is the core that the kernel knows as `core` (begin_at), or the last number
// is (end_at).
bool count_cores_from(int core);
bool count_cores_up_to(int core);

}  // namespace logjam::platform
