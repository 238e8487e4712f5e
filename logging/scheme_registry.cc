#include "logging/scheme_registry.h"

#include <algorithm>

namespace logjam {
namespace {

// Returns the registry, which static initialisers fill in an order that the linker chooses.
std::vector<SchemeInfo>& registry() {
  static std::vector<SchemeInfo> schemes;
  return schemes;
}

}  // namespace

SchemeRegistration::SchemeRegistration(SchemeInfo info) {
  auto& schemes = registry();
  schemes.insert(std::ranges::upper_bound(schemes, info.name, {}, &SchemeInfo::name),
                 std::move(info));
}

const std::vector<SchemeInfo>& all_schemes() { return registry(); }

const SchemeInfo* find_scheme(std::string_view name) {
  const auto& schemes = registry();
  const auto found = std::ranges::find(schemes, name, &SchemeInfo::name);
  return found == schemes.end() ? nullptr : &*found;
}

}  // namespace logjam
