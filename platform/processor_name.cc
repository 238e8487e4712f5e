#include "platform/processor_name.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>

namespace logjam::platform {
namespace {

// Returns the value of the first line "key : value" of a text.
std::string value_of(std::string_view text, std::string_view key) {
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with(key) && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

struct Part {
  unsigned long implementer, part;
  const char* name;
};
// Cores of servers, of small boards and of Apple's machines (arch/arm64/include/asm/cputype.h).
constexpr std::array kParts = std::to_array<Part>({
    {0x41, 0xd03, "Arm Cortex-A53"},
    {0x41, 0xd08, "Arm Cortex-A72"},
    {0x41, 0xd0b, "Arm Cortex-A76"},
    {0x41, 0xd0c, "Arm Neoverse N1"},
    {0x41, 0xd40, "Arm Neoverse V1"},
    {0x41, 0xd49, "Arm Neoverse N2"},
    {0x41, 0xd4f, "Arm Neoverse V2"},
    {0x41, 0xd84, "Arm Neoverse V3"},
    {0x41, 0xd8e, "Arm Neoverse N3"},
    {0x46, 0x001, "Fujitsu A64FX"},
    {0x48, 0xd01, "HiSilicon TSV110"},
    {0x61, 0x022, "Apple M1 Icestorm"},
    {0x61, 0x023, "Apple M1 Firestorm"},
    {0xc0, 0xac3, "Ampere-1"},
    {0xc0, 0xac4, "Ampere-1A"},
});

}  // namespace

std::string processor_name(std::string_view cpuinfo) {
  std::string model = value_of(cpuinfo, "model name");
  if (!model.empty()) return model;
  const std::string implementer = value_of(cpuinfo, "CPU implementer"),
                    part = value_of(cpuinfo, "CPU part");
  if (implementer.empty() || part.empty()) return "";
  const auto known = std::ranges::find_if(kParts, [&](const Part& each) {
    return each.implementer == std::strtoul(implementer.c_str(), nullptr, 16) &&
           each.part == std::strtoul(part.c_str(), nullptr, 16);
  });
  if (known != kParts.end()) return known->name;
  return "Arm processor " + part + " of implementer " + implementer;
}

}  // namespace logjam::platform
