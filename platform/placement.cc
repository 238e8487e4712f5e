#include "platform/placement.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "platform/assert.h"
#include "platform/text.h"

namespace logjam::platform {
namespace {

using Contexts = std::vector<HardwareContext>;
constexpr std::string_view kNames[] = {"compact", "scatter", "smt"};

// Returns the contexts in rounds: each round has the next context of each group, in the order of
// the groups. `group` is a member of HardwareContext.
Contexts in_turn(const Contexts& contexts, int HardwareContext::*group) {
  std::map<int, size_t> taken;
  std::vector<std::pair<size_t, HardwareContext>> turns;
  for (const HardwareContext& context : contexts) {
    turns.emplace_back(taken[context.*group]++, context);
  }
  std::ranges::stable_sort(turns, {}, [](const auto& turn) { return turn.first; });
  Contexts ordered;
  for (const auto& turn : turns) ordered.push_back(turn.second);
  return ordered;
}

// Orders the contexts so that the first context of every core comes before any second context.
Contexts cores_first(const Contexts& contexts) { return in_turn(contexts, &HardwareContext::core); }

Contexts in_order_of(PlacementPolicy policy, const Contexts& contexts) {
  if (policy == PlacementPolicy::kSmt) return contexts;
  Contexts ordered = cores_first(contexts);
  if (policy == PlacementPolicy::kCompact) return ordered;
  ordered = in_turn(ordered, &HardwareContext::node);
  return cores_first(in_turn(ordered, &HardwareContext::socket));
}

Placement& chosen_placement() {
  static Placement chosen(this_machine(), PlacementPolicy::kCompact);
  return chosen;
}

}  // namespace

std::string_view name_of(PlacementPolicy policy) { return kNames[static_cast<size_t>(policy)]; }

std::optional<PlacementPolicy> placement_policy(std::string_view name) {
  for (const PlacementPolicy policy : kPlacementPolicies) {
    if (name_of(policy) == name) return policy;
  }
  return std::nullopt;
}

Placement::Placement(const Topology& topology, PlacementPolicy policy, uint32_t workers)
    : topology_(topology),
      policy_(policy),
      workers_(workers != 0 ? workers : static_cast<uint32_t>(topology.contexts().size())),
      order_(in_order_of(policy, topology.contexts())) {
  LJ_ASSERT(order_.size() == topology.contexts().size());
}

bool Placement::begin_at(int number) { return rotate(number, 0); }
bool Placement::end_at(int number) { return rotate(number, 1); }

bool Placement::rotate(int number, ptrdiff_t after) {
  const auto found = std::ranges::find(order_, number, &HardwareContext::number);
  if (found == order_.end()) return false;
  std::rotate(order_.begin(), found + after, order_.end());
  if (policy_ != PlacementPolicy::kSmt) order_ = cores_first(order_);
  return true;
}

std::vector<int> Placement::nodes_of_workers() const {
  std::set<int> nodes;
  for (size_t i = 0; i < std::min<size_t>(workers_, order_.size()); ++i) {
    nodes.insert(order_[i].node);
  }
  return {nodes.begin(), nodes.end()};
}

std::string Placement::text() const {
  struct Group {
    std::vector<int> workers;
    std::set<int> numbers, cores;
  };
  std::map<int, Group> by_socket;
  for (uint32_t worker = 0; worker < workers_; ++worker) {
    const HardwareContext& context = of(worker);
    Group& group = by_socket[context.socket];
    group.workers.push_back(static_cast<int>(worker));
    group.numbers.insert(context.number);
    group.cores.insert(context.core);
  }
  std::string text;
  for (const auto& [socket, group] : by_socket) {
    const std::vector<int> numbers(group.numbers.begin(), group.numbers.end());
    text += (text.empty() ? std::string(name_of(policy_)) + ": " : ", ") +
            (group.workers.size() == 1 ? "worker " : "workers ") + ranges_of(group.workers) +
            " on socket " + std::to_string(socket) + (numbers.size() == 1 ? " core " : " cores ") +
            ranges_of(numbers);
    if (group.cores.size() < numbers.size()) {
      text += " (" + std::to_string(group.cores.size()) + " physical)";
    }
  }
  return text;
}

std::string ranges_of(const std::vector<int>& numbers) {
  LJ_ASSERT(std::ranges::adjacent_find(numbers, std::ranges::greater_equal()) == numbers.end());
  constexpr size_t kLeast = 3;  // the least members of a range with a step that is not 1
  std::string text;
  for (size_t begin = 0, end = 0; begin < numbers.size(); begin = end) {
    end = begin + 1;
    const int step = end < numbers.size() ? numbers[end] - numbers[begin] : 1;
    while (end < numbers.size() && numbers[end] - numbers[end - 1] == step) ++end;
    if (step != 1 && end - begin < kLeast) end = begin + 1;
    append_part(&text, ",", std::to_string(numbers[begin]));
    if (end - begin > 1) text += "-" + std::to_string(numbers[end - 1]);
    if (end - begin > 1 && step != 1) text += ":" + std::to_string(step);
  }
  return text;
}

const Placement& placement() { return chosen_placement(); }
void use_placement(const Placement& chosen) { chosen_placement() = chosen; }

int core_count() { return static_cast<int>(placement().order().size()); }

std::vector<int> allowed_cores() {
  std::vector<int> numbers;
  for (const HardwareContext& context : placement().order()) numbers.push_back(context.number);
  return numbers;
}

int socket_count() { return placement().topology().sockets(); }
int socket_of_core(int index) {
  LJ_ASSERT(index >= 0);
  return placement().of(static_cast<uint32_t>(index)).socket;
}
int node_of_core(int index) {
  LJ_ASSERT(index >= 0);
  return placement().of(static_cast<uint32_t>(index)).node;
}

}  // namespace logjam::platform
