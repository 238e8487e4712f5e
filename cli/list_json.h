// `logjam list --json`: the schemes, workloads and so on that a script can combine. A script reads
// them here, so that it need not change when a scheme is added.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "logging/scheme_registry.h"

namespace logjam {

// How many streams a scheme has: base + per_directory D + per_worker W + per_socket S.
struct StreamCount {
  uint32_t base = 0, per_directory = 0, per_worker = 0, per_socket = 0;
};
StreamCount stream_count_of(const SchemeInfo& scheme);

// Returns an object with an array for each of "schemes", "protocols", "workloads", "variants" and
// "devices" that is `wanted`. Any thread may call it.
std::string list_as_json(const std::function<bool(const char*)>& wanted);

}  // namespace logjam
