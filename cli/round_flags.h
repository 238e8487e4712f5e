// The flags of a round of `logjam explore`, which the round's seed draws.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "platform/assert.h"
#include "platform/random.h"

namespace logjam {

// Chooses numbers and texts at random. The choices follow from a seed.
class Draws {
 public:
  explicit Draws(uint64_t seed) : random_(seed) {}
  uint64_t below(uint64_t limit) {
    LJ_ASSERT(limit != 0);
    return random_.next() % limit;
  }
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

// The flags of a round for which the command line may give a value.
struct WantedRound {
  std::string scheme, protocol;  // "every" if the flag was not given
  std::string workload;          // used only if the flag was given
};

// Draws the flags of a round from its seed. Returns their names and values, without the flags that
// the command line sets. Refuses a scheme that cannot be explored. Make the first call on the main
// thread, before any round.
RoundFlags flags_of_round(uint64_t seed, const WantedRound& wanted);

// Returns whether `flag` must have the same value in all lives of a round, because it names the
// directories, or shapes the tables or the clients' work.
bool stays_in_later_lives(const std::string& flag);

}  // namespace logjam
