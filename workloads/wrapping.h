// Sums of the numbers of rows. They wrap around: a log from elsewhere may hold any numbers, and
// verify() then finds the wrong sums.
#pragma once

#include <type_traits>

namespace logjam {

// Adds `amount` to `number`, modulo the range of its type.
template <class Number>
void add_to(Number& number, std::type_identity_t<Number> amount) {
  using Unsigned = std::make_unsigned_t<Number>;
  number = static_cast<Number>(static_cast<Unsigned>(number) + static_cast<Unsigned>(amount));
}

}  // namespace logjam
