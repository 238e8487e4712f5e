// Flags whose value is a list of keys with numbers.
#include <cmath>

#include "platform/flag_list.h"
#include "tests/fuzz/target.h"

namespace logjam::fuzz {
namespace {

constexpr platform::ListKey kKeys[] = {
    {"run", 1, 1e9}, {"from", 0, 1e15}, {"count", 0, 1e15}, {"end", 1, 1}, {"mb_s", 0, 1e9, false}};

void read_list(Input input) {
  const std::string text(text_of(input));
  if (!platform::check_list("list", text, kKeys).empty()) return;
  for (const platform::ListKey& key : kKeys) {
    const double value = platform::listed(text, key.name, key.least);
    require(value >= key.least && value <= key.most, "a number that is accepted is in its range");
    require(!key.whole || value == std::floor(value), "a whole number is one");
  }
}

const FuzzRegistration registration({.name = "lists", .most_bytes = 200, .run = read_list});

}  // namespace
}  // namespace logjam::fuzz
