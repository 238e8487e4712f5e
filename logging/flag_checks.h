// Checks of flags, for SchemeInfo::check_flags and similar functions. Each function returns why
// `value` cannot be used, in one sentence, or an empty string. Any thread may call the functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace logjam {

// Checks that `value` is a power of two from `least` to 2^30.
std::string check_power_of_two(std::string_view flag, uint64_t value, uint64_t least);
std::string check_range(std::string_view flag, double value, double least, double most);
std::string check_one_of(std::string_view flag, std::string_view value, std::string_view one,
                         std::string_view other);

}  // namespace logjam
