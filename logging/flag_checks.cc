#include "logging/flag_checks.h"

#include <bit>
#include <sstream>

namespace logjam {

std::string check_power_of_two(std::string_view flag, uint64_t value, uint64_t least) {
  constexpr uint64_t kMost = uint64_t{1} << 30;
  if (std::has_single_bit(value) && value >= least && value <= kMost) return "";
  return "--" + std::string(flag) + "=" + std::to_string(value) + " is not a power of two from " +
         std::to_string(least) + " to " + std::to_string(kMost);
}

std::string check_range(std::string_view flag, double value, double least, double most) {
  if (value >= least && value <= most) return "";
  std::ostringstream why;
  why.precision(10);
  why << "--" << flag << "=" << value << " is outside " << least << " to " << most;
  return why.str();
}

std::string check_one_of(std::string_view flag, std::string_view value, std::string_view one,
                         std::string_view other) {
  if (value == one || value == other) return "";
  std::ostringstream why;
  why << "--" << flag << "=" << value << " is neither " << one << " nor " << other;
  return why.str();
}

}  // namespace logjam
