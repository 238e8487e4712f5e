// The figures that a scheme adds to the output row. A figure is a sum, or the quotient of two sums,
// so figures can be added and subtracted. One thread at a time may use a Counters object.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace logjam {

struct SchemeCounter {
  std::string name;
  double sum = 0;
  std::optional<double> of = {};  // the divisor, if there is one: then the figure is `sum` / `of`

  // Returns NaN if the divisor is 0.
  double value() const {
    if (!of) return sum;
    return *of == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / *of;
  }
};

class Counters {
 public:
  Counters() = default;
  Counters(std::initializer_list<SchemeCounter> counters) : counters_(counters) {}

  auto begin() const { return counters_.begin(); }
  auto end() const { return counters_.end(); }
  bool has(std::string_view name) const {
    return std::ranges::find(counters_, name, &SchemeCounter::name) != counters_.end();
  }
  // Returns 0 if there is no counter `name`.
  double value(std::string_view name) const {
    const auto found = std::ranges::find(counters_, name, &SchemeCounter::name);
    return found == counters_.end() ? 0 : found->value();
  }

  // Adds the counters of `others`. Two counters of the same name become one counter.
  Counters& add(const Counters& others) {
    for (const SchemeCounter& other : others) {
      const auto mine = std::ranges::find(counters_, other.name, &SchemeCounter::name);
      if (mine == counters_.end()) {
        counters_.push_back(other);
      } else {
        mine->sum += other.sum;
        if (mine->of) *mine->of += other.of.value_or(0);
      }
    }
    return *this;
  }

  Counters since(const Counters& earlier) const {
    Counters difference = earlier;
    for (SchemeCounter& counter : difference.counters_) {
      counter.sum = -counter.sum;
      if (counter.of) *counter.of = -*counter.of;
    }
    return difference.add(*this);
  }

 private:
  std::vector<SchemeCounter> counters_;
};

}  // namespace logjam
