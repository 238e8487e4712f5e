// Names of this program's functions and variables by their addresses, from addr2line and nm.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "platform/assert.h"

namespace logjam::sim {

class Symbols {
 public:
  // Adds an address. Call it before resolve(), for each address that is asked about later.
  void want(uint32_t return_address) {
    LJ_ASSERT(!resolved_);
    places_[return_address];
  }
  void resolve();

  // Returns the function that makes the call before this address, or "??". If this function only
  // serves others (an atomic, a copy, a container), returns the function into which it is inlined.
  std::string function(uint32_t return_address) const;
  // Returns whether all functions at the address only serve their callers.
  bool serves_others(uint32_t return_address) const;
  // Returns the function with its file and line.
  std::string place(uint32_t return_address) const;
  // Returns the file, with its folder, and the line.
  std::string line(uint32_t return_address) const;
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
