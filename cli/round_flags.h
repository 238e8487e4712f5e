// The flags of a round of `logjam explore`, as a seed draws them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "platform/random.h"

namespace logjam {

class Draws {
 public:
  explicit Draws(uint64_t seed) : random_(seed) {}
  uint64_t below(uint64_t limit) { return random_.next() % limit; }
  template <class Choice>
  Choice one_of(std::initializer_list<Choice> choices) {
    return choices.begin()[below(choices.size())];
  }
  std::string number_of(std::initializer_list<uint64_t> choices) {
    return std::to_string(one_of(choices));
  }

 private:
  platform::SplitMix64 random_;
};

using RoundFlags = std::vector<std::pair<std::string, std::string>>;

// Returns the flags of a round, by name, but those that the command line gives. They follow from
// the seed, and from --log and --cc unless these are "every". The first call is made before any
// round, on the main thread.
RoundFlags flags_of_round(uint64_t seed, const std::string& scheme, const std::string& protocol);

// Returns whether a later life of a round keeps the flag of the first life, because it says which
// tables and directories there are, or what the clients do.
bool stays_in_later_lives(const std::string& flag);

}  // namespace logjam
