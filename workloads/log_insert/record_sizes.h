// The record sizes of the log-insert benchmark (Aether, section 6).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace logjam::log_insert {

// Sizes in bytes, in the order of a thread's inserts, which the thread repeats. All are multiples
// of 8.
struct RecordSizes {
  std::vector<uint32_t> bytes;

  std::string spec;            // the specification that was parsed, without its outlier
  uint32_t outlier_bytes = 0;  // 0: no record differs

  // Sets the members above. `given` is a size, or `dist:SMALL,LARGE,MEAN`: two sizes in random
  // order, with shares that make their mean MEAN. `dist:` alone means Aether's 40, 264 and 120 B.
  // With `:OUTLIER` after either, one record in 60 has that size instead (Aether, Fig. 10). `seed`
  // draws its place in each group of 60. With a fixed place all threads would fill their outliers
  // at the same time, and no small record would wait for one. Returns an empty string, or why the
  // arguments are refused, in one sentence.
  std::string parse(const std::string& given, uint64_t seed);

  // Returns the index in `bytes` at which a thread begins; the threads begin at equal distances.
  // This function and the next two require a successful parse().
  size_t first(uint32_t thread, uint32_t threads) const { return bytes.size() * thread / threads; }
  uint32_t largest() const;
  uint32_t smallest() const;
};

}  // namespace logjam::log_insert
