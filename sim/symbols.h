// Finds the names of this program's functions and variables by their addresses, with its debug
// information (binutils' addr2line and nm).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "platform/assert.h"

namespace logjam::sim {

class Symbols {
 public:
  // Announces an address that a question after resolve() will name.
  void want(uint32_t return_address) {
    LJ_ASSERT(!resolved_);
    places_[return_address];
  }
  void resolve();

  // Returns the function that makes the call before this address; or, if that only serves others
  // (an atomic, a copy, a container), the function into which it is inlined. "??" if it is not
  // known.
  std::string function(uint32_t return_address) const;
  // Returns whether every function there only serves its caller.
  bool serves_others(uint32_t return_address) const;
  // Returns the function with its file and line.
  std::string place(uint32_t return_address) const;
  // Returns the file, with its folder, and the line.
  std::string line(uint32_t return_address) const;
  // Returns the variable at this address.
  std::string variable(uintptr_t address) const;

 private:
  struct Place {
    std::string function = "??", line;
  };
  const Place* found(uint32_t return_address) const;

  bool resolved_ = false;
  std::map<uint32_t, Place> places_;
  std::map<uintptr_t, std::string> variables_;
};

}  // namespace logjam::sim
