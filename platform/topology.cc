#include "platform/topology.h"

#include <hwloc.h>

#include <algorithm>
#include <map>
#include <memory>

#include "platform/assert.h"

namespace logjam::platform {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t machine) const { hwloc_topology_destroy(machine); }
};
using Machine = std::unique_ptr<hwloc_topology, Destroy>;

// Loads a synthetic machine, or the host if `description` is empty. Also loads the contexts that
// the process may not use, because socket_key() needs all cores of a package.
Machine load(const std::string& description) {
  hwloc_topology_t machine = nullptr;
  if (hwloc_topology_init(&machine) != 0) return nullptr;
  Machine owned(machine);
  if (!description.empty() && hwloc_topology_set_synthetic(machine, description.c_str()) != 0) {
    return nullptr;
  }
  hwloc_topology_set_flags(machine, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_load(machine) != 0) return nullptr;
  return owned;
}

}  // namespace

// Makes a Topology of what hwloc has found.
class TopologyReader {
 public:
  explicit TopologyReader(const Machine& machine) : machine_(machine.get()) {}

  Topology read(std::span<const int> allowed) {
    hwloc_obj_t context = nullptr;
    while ((context = hwloc_get_next_obj_by_type(machine_, HWLOC_OBJ_PU, context)) != nullptr) {
      const auto number = static_cast<int>(context->os_index);
      if (allowed.empty() || std::ranges::count(allowed, number) != 0) add(number, context);
    }
    found_.cores_ = static_cast<int>(cores_.size());
    found_.sockets_ = static_cast<int>(sockets_.size());
    return found_;
  }

  static Topology flat(std::span<const int> numbers) {
    Topology flat;
    for (const int number : numbers) {
      flat.contexts_.push_back({.number = number, .core = flat.cores_++});
    }
    flat.sockets_ = 1;
    flat.node_numbers_ = {0};
    return flat;
  }

 private:
  void add(int number, hwloc_obj_t context) {
    const int node_number = std::max(0, hwloc_bitmap_first(context->nodeset));
    const hwloc_obj_t of = hwloc_get_ancestor_obj_by_type(machine_, HWLOC_OBJ_CORE, context);
    const int core = counted(cores_, of != nullptr ? of : context);
    const auto sibling = std::ranges::count(found_.contexts_, core, &HardwareContext::core);
    const int node = counted(nodes_, node_number);
    if (node == found_.nodes()) found_.node_numbers_.push_back(node_number);
    found_.contexts_.push_back({.number = number,
                                .core = core,
                                .sibling = static_cast<int>(sibling),
                                .node = node,
                                .socket = counted(sockets_, socket_key(context, node_number))});
  }

  // Returns a key that the contexts of one socket share. Virtual machines may show each processor
  // as a package of its own, with common memory. Such packages on one node count as one socket.
  std::pair<hwloc_obj_t, int> socket_key(hwloc_obj_t context, int node_number) const {
    const hwloc_obj_t package =
        hwloc_get_ancestor_obj_by_type(machine_, HWLOC_OBJ_PACKAGE, context);
    const bool several_cores =
        package != nullptr &&
        hwloc_get_nbobjs_inside_cpuset_by_type(machine_, package->cpuset, HWLOC_OBJ_CORE) > 1;
    if (several_cores) return {package, 0};
    return {nullptr, package == nullptr ? 0 : node_number};
  }

  // Returns the number of `key`, in the order in which keys are first seen.
  template <class Key>
  static int counted(std::map<Key, int>& seen, const Key& key) {
    return seen.try_emplace(key, static_cast<int>(seen.size())).first->second;
  }

  const hwloc_topology_t machine_;
  Topology found_;
  std::map<hwloc_obj_t, int> cores_;
  std::map<int, int> nodes_;
  std::map<std::pair<hwloc_obj_t, int>, int> sockets_;
};

std::optional<Topology> Topology::described(const std::string& description,
                                            std::span<const int> allowed) {
  const Machine machine = description.empty() ? nullptr : load(description);
  if (machine == nullptr) return std::nullopt;
  Topology found = TopologyReader(machine).read(allowed);
  if (found.contexts_.empty()) return std::nullopt;
  return found;
}

Topology Topology::of_host(std::span<const int> allowed) {
  LJ_ASSERT(!allowed.empty());
  if (const Machine machine = load(""); machine != nullptr) {
    Topology found = TopologyReader(machine).read(allowed);
    if (found.contexts_.size() == allowed.size()) return found;
  }
  return TopologyReader::flat(allowed);
}

}  // namespace logjam::platform
