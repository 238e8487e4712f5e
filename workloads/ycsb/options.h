// What the --ycsb_* flags ask for, presets applied.
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
  bool by_column = false;    // operations touch one of kColumns columns, not the row
  bool reads_rows = false;   // by_column: for updates only
  uint32_t scan_length = 0;  // rows of the scan that ends every transaction (0: no scan); with a
                             // scan_ratio, of the longest scan
  bool distinct = true;      // no key twice in one transaction
  bool prefetch = true;
};

inline constexpr uint32_t kColumns = 10;

// The flags as they are. What is not said explicitly comes from --ycsb_workload or --ycsb_preset.
Options options_from_flags();
// One sentence, or empty.
std::string check_flags();
std::string describe(const Options& options);

}  // namespace logjam::ycsb
