// The hardware contexts of a machine, and what they share: cores, sockets, NUMA nodes.
//
// A hardware context is what the kernel calls a CPU, and what a thread is pinned to. The contexts
// of a core (SMT siblings) share its execution units, the cores of a socket its last cache, and
// memory belongs to a NUMA node. hwloc finds out; no header of platform/ shows hwloc.
//
// A Topology is a value that does not change. Any thread may call any function of this file.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace logjam::platform {

// Cores, sockets and nodes are counted from 0, without those of which no context may be used.
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
  // Returns the machine that hwloc makes of a synthetic description such as "pack:4 numa:1 core:16
  // pu:2", or nothing if hwloc does not understand it. If `allowed` is not empty, only the contexts
  // with these numbers are there.
  static std::optional<Topology> described(const std::string& description,
                                           std::span<const int> allowed = {});
  // Returns the machine that this process runs on, of which it may use the contexts with the
  // numbers `allowed`, at least one. Contexts of which hwloc finds none become cores of one socket.
  static Topology of_host(std::span<const int> allowed);

  // In the order of the sockets, nodes, cores and siblings; at least one.
  const std::vector<HardwareContext>& contexts() const { return contexts_; }
  int sockets() const { return sockets_; }
  int nodes() const { return static_cast<int>(node_numbers_.size()); }
  int cores() const { return cores_; }
  // The number by which the kernel knows a node.
  int node_number(int node) const { return node_numbers_[static_cast<size_t>(node)]; }

 private:
  friend class TopologyReader;
  Topology() = default;

  std::vector<HardwareContext> contexts_;
  std::vector<int> node_numbers_;
  int cores_ = 0;
  int sockets_ = 0;
};

// The machine that this process runs on, of which only the contexts are there that it may use. The
// simulated machine has another definition of this function (the native one is in this_machine.cc).
const Topology& this_machine();

}  // namespace logjam::platform
