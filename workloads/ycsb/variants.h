// The mixes of YCSB: YCSB's own six, and the mixes of papers under names of their own.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace logjam::ycsb {

enum class Distribution : uint8_t { kUniform, kZipf, kScrambled, kLatest };

// The kinds of updates. YCSB's own changes one of ten fields.
enum class Update : uint8_t {
  kField,
  kReadField,  // reads the row before that: YCSB's read-modify-write
  kRow,        // overwrites the row without reading it
  kReadRow,    // reads the row, and writes all of it
};
enum class Read : uint8_t { kRow, kField };

// A value of --ycsb_workload, and the values of the other flags that are not given.
struct Variant {
  std::string_view name;
  std::string_view what;                                    // for `logjam list`
  double read_ratio = 0, insert_ratio = 0, scan_ratio = 0;  // the rest are updates
  Update update = Update::kField;
  Distribution distribution = Distribution::kScrambled;
  double theta = 0.99;
  uint32_t value_bytes = 1000;
  uint32_t ops = 1;
  bool hashed = true;  // YCSB's insertorder
  bool ordered = false;
  uint32_t scan_length = 0;
  Read read = Read::kRow;
};

std::span<const Variant> variants();
// Returns the variant with this name, or null.
const Variant* find_variant(std::string_view name);

}  // namespace logjam::ycsb
