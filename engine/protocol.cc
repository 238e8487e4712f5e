#include "engine/protocol.h"

#include <algorithm>
#include <utility>

namespace logjam {
namespace {

std::vector<ProtocolInfo>& registry() {
  static std::vector<ProtocolInfo> protocols;
  return protocols;
}

}  // namespace

ProtocolRegistration::ProtocolRegistration(ProtocolInfo info) {
  const auto at = std::lower_bound(
      registry().begin(), registry().end(), info,
      [](const ProtocolInfo& a, const ProtocolInfo& b) { return a.name < b.name; });
  registry().insert(at, std::move(info));
}

const std::vector<ProtocolInfo>& all_protocols() { return registry(); }

const ProtocolInfo* find_protocol(std::string_view name) {
  for (const ProtocolInfo& info : all_protocols()) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

std::string_view name_of(AbortReason reason) {
  switch (reason) {
    case AbortReason::kLockBusy:
      return "lock_busy";
    case AbortReason::kDied:
      return "died";
    case AbortReason::kDeadlock:
      return "deadlock";
    case AbortReason::kValidation:
      return "validation";
    case AbortReason::kPhantom:
      return "phantom";
    case AbortReason::kCount:
      break;
  }
  return "unknown";
}

}  // namespace logjam
