// YCSB's options: the --ycsb_* flags, and the variants, which are the mixes of --ycsb_workload.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace logjam::ycsb {

enum class Distribution : uint8_t { kUniform, kZipf, kScrambled, kLatest };

// The kinds of updates. YCSB itself has only kField and kReadField.
enum class Update : uint8_t {
  kField,
  kReadField,  // reads the row first: YCSB's read-modify-write
  kRow,        // overwrites the row without reading it
  kReadRow,    // reads the row, and writes all of it
};
enum class Read : uint8_t { kRow, kField };

// A mix of --ycsb_workload: the values for the flags that are not given.
struct Variant {
  std::string_view name;
  std::string_view what;                                    // for `logjam list`
  double read_ratio = 0, insert_ratio = 0, scan_ratio = 0;  // all other operations are updates
  Update update = Update::kField;
  Distribution distribution = Distribution::kScrambled;
  double theta = 0.99;
  uint32_t value_bytes = 1000;
  uint32_t ops = 1;      // point operations per transaction
  bool hashed = true;    // keys are hashes of row numbers (YCSB's insertorder), not the row numbers
  bool ordered = false;  // whether the primary index is ordered
  // The number of rows of the scan that ends every transaction; 0: there is no such scan. If
  // scan_ratio is not 0, the number of rows of the longest scan.
  uint32_t scan_length = 0;
  Read read = Read::kRow;
};

std::span<const Variant> variants();
const Variant* find_variant(std::string_view name);

// A variant in which the values of the given flags replace its own values.
struct Options : Variant {
  uint64_t records = 0;
  double hot_moves_s = 0;  // the time after which other rows are popular; 0: they stay
  uint32_t ahead = 1;      // transactions that a worker draws at a time
  uint32_t long_rows = 0;  // rows that each transaction of worker 0 updates; 0: worker 0 is as all
  uint64_t expected_inserts = 0;  // number of future inserts, to which kScrambled also maps ranks

  bool by_field() const { return update == Update::kField || update == Update::kReadField; }
  bool blind() const { return update == Update::kRow; }
  bool updates() const { return read_ratio + insert_ratio + scan_ratio < 1 - 1e-9; }
};

inline constexpr uint32_t kFields = 10;

Options options_from_flags();
// Returns why the flags cannot be used, in one sentence, or an empty string.
std::string check_flags();
// Returns one line for the summary and the output row of a run.
std::string describe(const Options& options);

}  // namespace logjam::ycsb
