#include "sim/symbols.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

#include "platform/assert.h"

namespace logjam::sim {
namespace {

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  char part[4096];
  for (size_t bytes = 0; (bytes = fread(part, 1, sizeof part, pipe)) > 0;) text.append(part, bytes);
  pclose(pipe);
  return text;
}

// Turns "logjam::Stream::claim(unsigned long)" into "logjam::Stream::claim".
std::string without_parameters(const std::string& function) {
  int depth = 0;
  for (size_t at = 0; at < function.size(); ++at) {
    if (function[at] == '<') ++depth;
    if (function[at] == '>') --depth;
    if (function[at] == '(' && depth == 0 && !function.substr(at).starts_with("(anonymous")) {
      return function.substr(0, at);
    }
  }
  return function;
}

bool is_servant(const std::string& function) {
  constexpr std::array<std::string_view, 10> kServants = {
      "std::",   "operator new", "operator delete", "__gnu_cxx::",        "logjam::sim::",
      "__wrap_", "__tsan_",      "in_pieces<",      "logjam::platform::", "logjam::Arena::"};
  return function == "??" ||
         std::any_of(kServants.begin(), kServants.end(), [&](std::string_view servant) {
           const size_t at = function.find(servant);
           return at == 0 || (at != function.npos && function[at - 1] == ' ');
         });
}

}  // namespace

void Symbols::resolve() {
  resolved_ = true;
  char name[] = "/tmp/logjam-addresses-XXXXXX";
  const int fd = mkstemp(name);
  if (fd < 0) return;
  std::ostringstream addresses;
  addresses << std::hex;
  for (const auto& [address, place] : places_) addresses << "0x" << address - 1 << '\n';
  std::ofstream(name) << addresses.str();
  const std::string program = "/proc/" + std::to_string(getpid()) + "/exe";
  std::istringstream lines(output_of("addr2line -aCfie " + program + " <" + name + " 2>/dev/null"));
  auto place = places_.begin();
  bool chosen = true;
  // For each address, addr2line prints a line with the address, and two lines for each function:
  // its name and its place. The innermost inlined function comes first, the containing one last.
  for (std::string function, line; std::getline(lines, function);) {
    if (function.starts_with("0x")) {
      place = places_.find(static_cast<uint32_t>(std::strtoul(function.c_str(), nullptr, 16)) + 1);
      chosen = place == places_.end();
      continue;
    }
    if (!std::getline(lines, line)) break;
    if (chosen) continue;
    place->second.function = without_parameters(function);
    const bool system_header = line.starts_with("/usr/");
    line = line.substr(0, line.find(" (disc"));
    // addr2line does not print the class of an inlined member function. So keeps the file's name.
    const size_t project = line.rfind('/', line.rfind('/') - 1);
    place->second.line = project == std::string::npos ? line : line.substr(project + 1);
    chosen = !is_servant(place->second.function) && !system_header;
  }
  close(fd);
  unlink(name);
  std::istringstream symbols(output_of("nm -C " + program + " 2>/dev/null"));
  for (std::string line; std::getline(symbols, line);) {
    constexpr size_t kAddress = 16, kName = 19;
    if (line.size() <= kName || std::string("bBdDvVuU").find(line[kAddress + 1]) == line.npos)
      continue;
    variables_[std::strtoul(line.c_str(), nullptr, 16)] = line.substr(kName);
  }
}

const Symbols::Place* Symbols::found(uint32_t return_address) const {
  LJ_ASSERT(resolved_);
  const auto at = places_.find(return_address);
  return at == places_.end() ? nullptr : &at->second;
}

std::string Symbols::function(uint32_t return_address) const {
  const Place* place = found(return_address);
  return place == nullptr ? "??" : place->function;
}

bool Symbols::serves_others(uint32_t return_address) const {
  return is_servant(function(return_address));
}

std::string Symbols::place(uint32_t return_address) const {
  const Place* place = found(return_address);
  return place == nullptr ? "??" : place->function + "  " + place->line;
}

std::string Symbols::line(uint32_t return_address) const {
  const Place* place = found(return_address);
  return place == nullptr ? "??" : place->line;
}

std::string Symbols::variable(uintptr_t address) const {
  auto found = variables_.upper_bound(address + 63);
  if (found == variables_.begin()) return "?";
  --found;
  return found->second;
}

}  // namespace logjam::sim
