// The options of YCSB: the --ycsb_* flags, with presets applied.
#pragma once

#include <cstdint>
#include <string>

namespace logjam::ycsb {

enum class Distribution : uint8_t { kUniform, kZipf, kScrambled, kLatest };

struct Options {
  uint64_t records = 0;
  uint32_t value_bytes = 0;
  uint32_t ops = 0;  // point operations a transaction
  double read_ratio = 0;
  double insert_ratio = 0;  // the rest of the operations are updates
  double scan_ratio = 0;    // scans of 1 to scan_length rows
  double theta = 0;
  Distribution distribution = Distribution::kUniform;
  bool ordered = false;      // the primary index
  bool rmw = false;          // an update reads the row first
  bool by_column = false;    // operations access one of kColumns columns, not the row
  bool reads_rows = false;   // with by_column: only updates access a column, reads the row
  uint32_t scan_length = 0;  // rows of the scan that ends every transaction (0: no scan); with a
                             // scan_ratio, rows of the longest scan
  bool distinct = true;      // the keys of a transaction differ
  bool prefetch = true;
};

inline constexpr uint32_t kColumns = 10;

// The current values of the flags. Flags that were not given take the values of --ycsb_workload or
// --ycsb_preset.
Options options_from_flags();
// Returns why the flags cannot be used, in one sentence, or an empty string.
std::string check_flags();
// One line for the summary of a run.
std::string describe(const Options& options);

}  // namespace logjam::ycsb
