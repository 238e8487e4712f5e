// Refusals of flags, for WorkloadInfo::check_flags: one sentence, or empty if the value is usable.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

namespace logjam {

inline std::string refuse_outside(const std::string& flag, uint64_t value, uint64_t least,
                                  uint64_t most) {
  if (value >= least && value <= most) return "";
  return "--" + flag + " is " + std::to_string(least) + " to " + std::to_string(most);
}

// Returns an empty string if `known`, or else a refusal of `given`. `what` names the valid values.
inline std::string refuse_unless(bool known, const std::string& what, const std::string& given) {
  return known ? "" : what + ", not \"" + given + "\"";
}

inline std::string first_refusal(std::initializer_list<std::string> refusals) {
  for (const std::string& refusal : refusals) {
    if (!refusal.empty()) return refusal;
  }
  return "";
}

}  // namespace logjam
