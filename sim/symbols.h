// Names of functions and variables of this program by their addresses, from its debug information
// (binutils' addr2line and nm).
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace logjam::sim {

class Symbols {
 public:
  // First all addresses that will be asked for, then resolve(), then the questions.
  void want(uint32_t return_address) { places_[return_address]; }
  void resolve();

  // The function that has the call before this address, or the one into which it is inlined if it
  // only serves others (an atomic, a copy, a container). "??" if that is not known.
  std::string function(uint32_t return_address) const;
  // Whether no function there does more than serve its caller.
  bool serves_others(uint32_t return_address) const;
  // The same with its file and line.
  std::string place(uint32_t return_address) const;
  // The variable at this address.
  std::string variable(uintptr_t address) const;

 private:
  struct Place {
    std::string function = "??", line;
  };
  std::map<uint32_t, Place> places_;
  std::map<uintptr_t, std::string> variables_;
};

}  // namespace logjam::sim
