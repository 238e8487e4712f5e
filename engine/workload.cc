#include "engine/workload.h"

#include <algorithm>
#include <utility>

namespace logjam {
namespace {

// Returns the registry. It is inside a function, because registrations run before main() in no
// particular order.
std::vector<WorkloadInfo>& registry() {
  static std::vector<WorkloadInfo> workloads;
  return workloads;
}

}  // namespace

WorkloadRegistration::WorkloadRegistration(WorkloadInfo info) {
  auto& all = registry();
  const auto by_name = [](const WorkloadInfo& a, const WorkloadInfo& b) { return a.name < b.name; };
  all.insert(std::upper_bound(all.begin(), all.end(), info, by_name), std::move(info));
}

const std::vector<WorkloadInfo>& all_workloads() { return registry(); }

const WorkloadInfo* find_workload(std::string_view name) {
  for (const WorkloadInfo& info : registry()) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

}  // namespace logjam
