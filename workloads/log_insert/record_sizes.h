// The record sizes of the log-insert benchmark (Aether, section 6).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace logjam::log_insert {

// Sizes in bytes, in the order in which a thread inserts such records again and again. All are
// multiples of 8.
struct RecordSizes {
  std::vector<uint32_t> bytes;

  // Sets `bytes`. `spec` is a size, or `dist:SMALL,LARGE,MEAN`: two sizes in random order, in such
  // shares that their mean is MEAN. `dist:` alone means Aether's 40, 264 and 120 B. If
  // `outlier_bytes` is not 0, every 60th record has that size instead (Aether, Fig. 10). Returns an
  // empty string, or why the arguments are refused, in one sentence.
  std::string parse(const std::string& spec, uint32_t outlier_bytes, uint64_t seed);

  // Require a successful parse().
  uint32_t largest() const;
  uint32_t smallest() const;
};

}  // namespace logjam::log_insert
