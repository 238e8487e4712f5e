// Zipfian ranks: drawn in constant time (Zipf), or with any skew by binary search (ZipfTable).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "workloads/random.h"

namespace logjam {

// Returns the sum of i^-theta for i in [1, n]. Adds the first kExact terms one by one, and computes
// the sum of all later terms by the Euler-Maclaurin formula, whose error is below that of a double.
inline double zeta(uint64_t n, double theta) {
  constexpr uint64_t kExact = 100'000;
  double sum = 0;
  for (uint64_t i = std::min(n, kExact); i > 0; --i)
    sum += std::pow(static_cast<double>(i), -theta);
  if (n <= kExact) return sum;
  LJ_ASSERT(theta != 1);
  const double m = kExact, end = static_cast<double>(n);
  const auto f = [theta](double x) { return std::pow(x, -theta); };
  const double integral = (std::pow(end, 1 - theta) - std::pow(m, 1 - theta)) / (1 - theta);
  return sum + integral + (f(end) - f(m)) / 2 - theta * (f(end) / end - f(m) / m) / 12;
}

// Zipfian ranks as Gray et al. draw them, "Quickly generating billion-record synthetic databases"
// (SIGMOD 1994), fig. 9. The two most popular ranks have their exact probabilities, and the other
// ranks follow the paper's continuous approximation. Threads may share a const Zipf.
class Zipf {
 public:
  Zipf(uint64_t n, double theta)
      : n_(n),
        theta_(theta),
        alpha_(1 / (1 - theta)),
        zeta_n_(zeta(n, theta)),
        below_second_(1 + std::pow(0.5, theta)) {
    LJ_ASSERT(n > 0 && theta >= 0 && theta < 1);
    set_eta();
  }

  // Adds less popular ranks until there are `n` ranks. As in YCSB, each new rank costs one pow().
  void grow(uint64_t n) {
    if (n <= n_) return;
    while (n_ < n) zeta_n_ += std::pow(static_cast<double>(++n_), -theta_);
    set_eta();
  }

  // Draws a rank in [0, n). Rank 0 is the most popular.
  uint64_t draw(Random& random) const {
    const double u = random.unit();
    const double uz = u * zeta_n_;
    if (uz < 1) return 0;
    if (uz < below_second_) return 1;
    const double rank = static_cast<double>(n_) * std::pow(eta_ * u - eta_ + 1, alpha_);
    return std::min(static_cast<uint64_t>(rank), n_ - 1);
  }

 private:
  void set_eta() {
    eta_ = n_ <= 2 ? 0
                   : (1 - std::pow(2 / static_cast<double>(n_), 1 - theta_)) /
                         (1 - zeta(2, theta_) / zeta_n_);
  }

  uint64_t n_;
  double theta_;
  double alpha_;
  double zeta_n_;
  double below_second_;
  double eta_;
};

// Zipfian ranks of any skew, also of 1 and more, by binary search in a table of n doubles. The
// table suits at most a few million ranks. It is immutable, and the clients of a run share it.
class ZipfTable {
 public:
  ZipfTable(uint64_t n, double theta) {
    LJ_ASSERT(n > 0 && theta >= 0);
    double sum = 0;
    for (uint64_t rank = 1; theta != 0 && rank <= n; ++rank) {
      cumulative_.push_back(sum += std::pow(static_cast<double>(rank), -theta));
    }
    n_ = n;
  }

  uint64_t draw(Random& random) const {
    if (cumulative_.empty()) return random.below(n_);
    const double at = random.unit() * cumulative_.back();
    const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, at);
    return static_cast<uint64_t>(found - cumulative_.begin());
  }

 private:
  uint64_t n_;
  std::vector<double> cumulative_;  // by rank; empty if theta is 0: ranks are uniform
};

// Returns FNV-1a over the eight octets of `value`, the first step of YCSB's hash.
constexpr uint64_t fnv1a(uint64_t value) {
  uint64_t hash = 0xcbf29ce484222325;
  for (int octet = 0; octet < 8; ++octet, value >>= 8) {
    hash = (hash ^ (value & 0xff)) * 0x100000001b3;
  }
  return hash;
}

// Returns YCSB's hash (site.ycsb.Utils.fnvhash64): the absolute value of fnv1a(), taken as a signed
// number. With this hash, YCSB maps ranks to rows, and row numbers to keys.
constexpr uint64_t ycsb_hash(uint64_t value) {
  const uint64_t hash = fnv1a(value);
  return hash >> 63 != 0 ? -hash : hash;
}

}  // namespace logjam
