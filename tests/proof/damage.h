// The kinds of damage that tests do to a file of a log, and counts of the effects of the damage.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>

#include "proof/disk/crash_states.h"

namespace logjam {

enum How : uint8_t { kFlip, kCut, kZero, kRemove, kEarlier };
inline constexpr const char* kHow[] = {"flip", "cut", "zero", "remove", "earlier"};

// Flips a bit of byte `at`, cuts the file off before byte `at`, or zeroes the sector of byte `at`.
inline void damage(FileImage* image, How how, uint64_t at, uint64_t bit) {
  if (how == kFlip) change_byte(image, at, std::byte{1} << bit);
  if (how == kCut) image->resize(at);
  if (how == kZero) image->set_sector(at / kSectorBytes, nullptr);
}

struct Effects {
  uint64_t unharmed = 0, shorter = 0, silent = 0, reported = 0, refused = 0;
};
// Prints a line with the effects of each kind of damage. proof/corruptions.py reads these lines.
inline void print(const std::string& name, std::span<const Effects> by_how) {
  for (size_t how = 0; how < by_how.size(); ++how) {
    const Effects& effects = by_how[how];
    std::cout << "corruptions " << name << " " << kHow[how] << ": " << effects.unharmed
              << " unharmed, " << effects.shorter << " shorter (" << effects.silent << " silent), "
              << effects.reported << " reported, " << effects.refused << " refused" << std::endl;
  }
}

inline uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace logjam
