// Sums of numbers in rows. The sums wrap around without undefined behaviour, because a log that
// logjam did not write may hold any numbers. verify() then finds the wrong sums.
#pragma once

#include <type_traits>

namespace logjam {

template <class Number>
void add_to(Number& number, std::type_identity_t<Number> amount) {
  using Unsigned = std::make_unsigned_t<Number>;
  number = static_cast<Number>(static_cast<Unsigned>(number) + static_cast<Unsigned>(amount));
}

}  // namespace logjam
