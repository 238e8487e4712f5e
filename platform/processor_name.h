// The name of the processor, for people.
#pragma once

#include <string>
#include <string_view>

namespace logjam::platform {

// Returns the name in the text of /proc/cpuinfo, or "" if the text has none. Arm's processors are
// numbers there; a number without a known name is returned as a number.
std::string processor_name(std::string_view cpuinfo);

}  // namespace logjam::platform
