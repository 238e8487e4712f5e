// Some schemes persist in place and need a device that is memory. Tests that walk the registry ask
// here for the next best device, and name no scheme.
#pragma once

#include <string>

#include "logging/device/device.h"
#include "logging/log_scheme.h"

namespace logjam {

inline std::string usable_device(const SchemeInfo& scheme, const std::string& device) {
  if (!scheme.in_place || device_is_memory(device)) return device;
  return device.starts_with("faulty:") ? "faulty:nvm" : "nvm";
}

}  // namespace logjam
