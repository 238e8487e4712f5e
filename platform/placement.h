// Which hardware context each thread of a run gets (--placement). "Core number i" is the i-th
// context of the run's placement, where worker i is pinned.
//
// Protocol. The main thread changes the placement only before it starts a thread that reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/topology.h"

namespace logjam::platform {

// The socket of a thread that belongs to no socket in particular.
inline constexpr int kNoSocket = -1;

enum class PlacementPolicy : uint8_t {
  // The cores of socket 0, then of socket 1, ...; SMT siblings only after all cores are taken.
  kCompact,
  // Each socket in turn, in it each node in turn; SMT siblings only after all cores are taken.
  kScatter,
  // Siblings next to each other, core by core, socket by socket.
  kSmt,
};
inline constexpr PlacementPolicy kPlacementPolicies[] = {
    PlacementPolicy::kCompact, PlacementPolicy::kScatter, PlacementPolicy::kSmt};
std::string_view name_of(PlacementPolicy policy);
std::optional<PlacementPolicy> placement_policy(std::string_view name);

class Placement {
 public:
  // Orders the contexts of the topology as workers get them, each once. `workers` is the number of
  // the run's workers; 0: as many workers as contexts.
  Placement(const Topology& topology, PlacementPolicy policy, uint32_t workers = 0);

  // Rotates the order so that the context with the kernel's `number` comes first; but no sibling
  // comes before a free core. Returns false, and does nothing, if no such context exists.
  bool begin_at(int number);
  // Rotates the order so that the context `number` comes last; otherwise the same as begin_at().
  bool end_at(int number);

  // Returns the context of the worker with number `index`, modulo the number of contexts.
  const HardwareContext& of(uint32_t index) const { return order_[index % order_.size()]; }
  const std::vector<HardwareContext>& order() const { return order_; }
  const Topology& topology() const { return topology_; }
  std::vector<int> nodes_of_workers() const;
  // Returns a text for people: "compact: workers 0-1 on socket 0 cores 0-1".
  std::string text() const;

 private:
  bool rotate(int number, ptrdiff_t after);

  Topology topology_;
  PlacementPolicy policy_;
  uint32_t workers_;
  std::vector<HardwareContext> order_;
};

// Returns ascending numbers as ranges, with their step if that is not 1: "0-3,8,10-14:2".
std::string ranges_of(const std::vector<int>& numbers);

// Returns the placement of this process: kCompact on this machine, until use_placement() is called.
const Placement& placement();
void use_placement(const Placement& chosen);

int core_count();
// Returns the cores that this process may use, by the kernel's numbers; core number i is the i-th.
std::vector<int> allowed_cores();
// Returns the number of sockets that have a core that this process may use, at least 1.
int socket_count();
// Returns the socket, or the NUMA node, of core number `index`. Sockets, nodes and cores count from
// 0.
int socket_of_core(int index);
int node_of_core(int index);

}  // namespace logjam::platform
