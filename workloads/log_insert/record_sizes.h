// How large the records of the log-insert benchmark are (Aether, section 6).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace logjam::log_insert {

// Sizes in the order in which a thread inserts them, over and over. All are multiples of 8.
struct RecordSizes {
  std::vector<uint32_t> bytes;

  // `spec` is a size, or `dist:[SMALL,LARGE,MEAN]`: two peaks in such shares that the mean comes
  // out, in random order. Without numbers they are Aether's 40, 264 and 120 B. Every 60th record
  // has `outlier_bytes` instead, if that is not 0 (Aether, Fig. 10). Returns why not, in one
  // sentence, or nothing.
  std::string parse(const std::string& spec, uint32_t outlier_bytes, uint64_t seed);

  uint32_t largest() const;
  uint32_t smallest() const;
};

}  // namespace logjam::log_insert
