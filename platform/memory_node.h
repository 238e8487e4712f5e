// How memory_node.cc asks the kernel. For that file and its test.
#pragma once

#include <cstddef>
#include <vector>

namespace logjam::platform {

// Asks the kernel for pages on the nodes with these numbers (as the kernel counts). With one number
// the pages come from that node as long as it has memory; with several, from each in turn. Returns
// whether the kernel agrees.
bool place_on_numbered(void* address, size_t bytes, const std::vector<int>& numbers);

}  // namespace logjam::platform
