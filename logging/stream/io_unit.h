// --io_unit_bytes: the I/O unit, for the schemes that divide their log into units. It is ELEDA's
// largest write, the length of Poplar's segments, and the range in which the fetch-add log counts
// filled bytes.
#pragma once

#include <cstdint>
#include <string>

namespace logjam {

// Returns --io_unit_bytes, a power of two, or `otherwise` if the flag is 0. Any thread.
uint64_t io_unit_bytes(uint64_t otherwise = uint64_t{64} << 10);
// For SchemeInfo::check_flags. Returns why --io_unit_bytes cannot be used, in one sentence, or an
// empty string if it can be used.
std::string check_io_unit();

}  // namespace logjam
