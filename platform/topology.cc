#include "platform/topology.h"

#include <hwloc.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>

#include "platform/assert.h"
#include "platform/fatal.h"

namespace logjam::platform {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t machine) const { hwloc_topology_destroy(machine); }
};
using Machine = std::unique_ptr<hwloc_topology, Destroy>;

struct Free {
  void operator()(hwloc_bitmap_t bits) const { hwloc_bitmap_free(bits); }
};
using Bits = std::unique_ptr<hwloc_bitmap_s, Free>;

// Loads a synthetic machine, or an XML file, or the host if `description` is empty. Also loads the
// contexts that the process may not use, because socket_key() needs all cores of a package.
Machine load(const std::string& description) {
  hwloc_topology_t machine = nullptr;
  if (hwloc_topology_init(&machine) != 0) return nullptr;
  Machine owned(machine);
  const auto take =
      description.ends_with(".xml") ? hwloc_topology_set_xml : hwloc_topology_set_synthetic;
  if (!description.empty() && take(machine, description.c_str()) != 0) return nullptr;
  hwloc_topology_set_flags(machine, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_load(machine) != 0) return nullptr;
  return owned;
}

}  // namespace

// Makes a Topology of what hwloc has found.
class TopologyReader {
 public:
  explicit TopologyReader(const Machine& machine) : machine_(machine.get()) {}

  Topology read(const Bits& allowed) {
    hwloc_obj_t context = nullptr;
    while ((context = hwloc_get_next_obj_by_type(machine_, HWLOC_OBJ_PU, context)) != nullptr) {
      const auto number = static_cast<int>(context->os_index);
      if (hwloc_bitmap_isset(allowed.get(), context->os_index) != 0) add(number, context);
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
    const int node = counted(nodes_, node_number);
    if (node == found_.nodes()) found_.node_numbers_.push_back(node_number);
    found_.contexts_.push_back({.number = number,
                                .core = core,
                                .sibling = siblings_[core]++,
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
  std::map<int, int> siblings_;  // the contexts of each core that were added
  std::map<int, int> nodes_;
  std::map<std::pair<hwloc_obj_t, int>, int> sockets_;
};

std::optional<Topology> Topology::described(const std::string& description) {
  constexpr std::string_view kAllowed = " allowed:";
  const size_t end = std::min(description.find(kAllowed), description.size());
  const Machine machine = end == 0 ? nullptr : load(description.substr(0, end));
  if (machine == nullptr) return std::nullopt;
  const Bits allowed(hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(machine.get())));
  if (end < description.size()) {
    const std::string list = description.substr(end + kAllowed.size());
    if (hwloc_bitmap_list_sscanf(allowed.get(), list.c_str()) != 0) return std::nullopt;
  }
  Topology found = TopologyReader(machine).read(allowed);
  if (found.contexts_.empty()) return std::nullopt;
  return found;
}

Topology Topology::of_host(std::span<const int> allowed) {
  LJ_ASSERT(!allowed.empty());
  if (const Machine machine = load(""); machine != nullptr) {
    if (hwloc_topology_is_thissystem(machine.get()) == 0) {
      refuse(
          "the environment makes hwloc describe another machine: unset HWLOC_SYNTHETIC, "
          "HWLOC_XMLFILE and HWLOC_FSROOT, or set HWLOC_THISSYSTEM=1 if it is this one");
    }
    const Bits bits(hwloc_bitmap_alloc());
    for (const int number : allowed) hwloc_bitmap_set(bits.get(), static_cast<unsigned>(number));
    Topology found = TopologyReader(machine).read(bits);
    if (found.contexts_.size() == allowed.size()) return found;
  }
  return TopologyReader::flat(allowed);
}

}  // namespace logjam::platform
