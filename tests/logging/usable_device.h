// Some schemes need a device that is memory. For these schemes, usable_device() replaces other
// devices by `nvm`, so that tests of all schemes need not name any scheme.
#pragma once

#include <string>

#include "logging/device/device_registry.h"
#include "logging/scheme_registry.h"

namespace logjam {

inline std::string usable_device(const SchemeInfo& scheme, const std::string& device) {
  if (!scheme.traits.in_place || device_traits(device).is_memory) return device;
  return device.starts_with("faulty:") ? "faulty:nvm" : "nvm";
}

}  // namespace logjam
