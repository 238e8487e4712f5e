// The hardware contexts of a machine, and what they share: cores, sockets, NUMA nodes. A hardware
// context is a CPU of the kernel; threads are pinned to contexts. The contexts of a core (SMT
// siblings) share its execution units, the cores of a socket share its last cache, and memory
// belongs to a NUMA node. Only topology.cc includes hwloc, which finds all this.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "platform/assert.h"

namespace logjam::platform {

// Only cores, sockets and nodes that have a usable context are counted, from 0.
struct HardwareContext {
  int number = 0;   // as the kernel counts contexts
  int core = 0;     // counted over the whole machine
  int sibling = 0;  // among the usable contexts of the core
  int node = 0;
  int socket = 0;

  bool operator==(const HardwareContext&) const = default;
};

class Topology {
 public:
  // Returns the machine that hwloc builds from a synthetic description such as "pack:4 numa:1
  // core:16 pu:2", or reads from the file whose name, ending in ".xml", is given instead. After
  // " allowed:0-3,8" the result has only these contexts. Returns nothing if hwloc does not
  // understand the description, or no context remains.
  static std::optional<Topology> described(const std::string& description);
  // Returns the contexts `allowed` of this machine. If hwloc lacks one of them, all are cores of
  // one socket. Refuses if the environment makes hwloc describe another machine.
  static Topology of_host(std::span<const int> allowed);

  // Returns the contexts, at least one, in the order of sockets, nodes, cores and siblings.
  const std::vector<HardwareContext>& contexts() const { return contexts_; }
  int sockets() const { return sockets_; }
  int nodes() const { return static_cast<int>(node_numbers_.size()); }
  int cores() const { return cores_; }
  // Returns the kernel's number of a node.
  int node_number(int node) const {
    LJ_ASSERT(0 <= node && node < nodes());
    return node_numbers_[static_cast<size_t>(node)];
  }

 private:
  friend class TopologyReader;
  Topology() = default;

  std::vector<HardwareContext> contexts_;
  std::vector<int> node_numbers_;
  int cores_ = 0;
  int sockets_ = 0;
};

// Returns this machine, with the contexts that the process may use. (In thread.cc, or sim/.)
const Topology& this_machine();

}  // namespace logjam::platform
