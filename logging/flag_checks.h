// Checks of flags, for SchemeInfo::check_flags and similar functions. Any thread may call them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace logjam {

// Returns why `value` is not a power of two from `least` to 2^30, in one sentence; empty if it is.
std::string check_power_of_two(std::string_view flag, uint64_t value, uint64_t least);
// Returns why `value` is not from `least` to `most`, both included, in one sentence; empty if it
// is.
std::string check_range(std::string_view flag, double value, double least, double most);
// Returns why `value` is neither `one` nor `other`, in one sentence; empty if it is.
std::string check_one_of(std::string_view flag, std::string_view value, std::string_view one,
                         std::string_view other);

}  // namespace logjam
