// Checks of flags, for SchemeInfo::check_flags and similar functions. Each check returns why the
// value cannot be used, in one sentence, or an empty string if it can be used. Any thread may call
// them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace logjam {

// `value` must be a power of two from `least` to 2^30.
std::string check_power_of_two(std::string_view flag, uint64_t value, uint64_t least);
// `value` must be from `least` to `most`, both included.
std::string check_range(std::string_view flag, double value, double least, double most);

}  // namespace logjam
