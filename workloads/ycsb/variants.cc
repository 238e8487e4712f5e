#include <algorithm>
#include <array>

#include "workloads/ycsb/options.h"

namespace logjam::ycsb {
namespace {

// A to F are Cooper et al., "Benchmarking Cloud Serving Systems with YCSB" (SoCC 2010), table 2,
// with the numbers of YCSB's workloads/workload[a-f]. Tables with inserts have an ordered index,
// because the hash index never grows. docs/REFERENCES.md cites the papers of the other variants.
constexpr std::array kVariants = {
    Variant{.name = "A",
            .what = "YCSB's A: half reads of rows, half updates of one of ten fields of 100 B; "
                    "scrambled zipfian, theta 0.99",
            .read_ratio = 0.5},
    Variant{.name = "B", .what = "YCSB's B: as A with 95 % reads", .read_ratio = 0.95},
    Variant{.name = "C", .what = "YCSB's C: reads only", .read_ratio = 1},
    Variant{.name = "D",
            .what = "YCSB's D: 95 % reads of the latest rows, 5 % inserts",
            .read_ratio = 0.95,
            .insert_ratio = 0.05,
            .distribution = Distribution::kLatest,
            .ordered = true},
    Variant{.name = "E",
            .what = "YCSB's E: 95 % scans of 1 to 100 rows, 5 % inserts",
            .insert_ratio = 0.05,
            .scan_ratio = 0.95,
            .ordered = true,
            .scan_length = 100},
    Variant{.name = "F",
            .what = "YCSB's F: as A, but updates read the row first",
            .read_ratio = 0.5,
            .update = Update::kReadField},
    Variant{.name = "dbx1000",
            .what = "DBx1000's defaults: 16 requests, 9 reads of a field to 1 update of a field; "
                    "key = zipfian rank, theta 0.6",
            .read_ratio = 0.9,
            .distribution = Distribution::kZipf,
            .theta = 0.6,
            .ops = 16,
            .hashed = false,
            .read = Read::kField},
    Variant{.name = "eleda",
            .what = "ELEDA's key-value mix: as A, with values of 1 KiB that are overwritten",
            .read_ratio = 0.5,
            .update = Update::kRow,
            .value_bytes = 1024},
    Variant{.name = "poplar-hybrid",
            .what = "Poplar's hybrid: an update of a column and a scan of 10 rows, uniform keys",
            .distribution = Distribution::kUniform,
            .theta = 0,
            .hashed = false,
            .ordered = true,
            .scan_length = 10,
            .read = Read::kField},
    Variant{.name = "poplar-write-only",
            .what = "Poplar's write-only: overwrites a row, uniform keys",
            .update = Update::kRow,
            .distribution = Distribution::kUniform,
            .theta = 0,
            .hashed = false},
    Variant{.name = "rows-16",
            .what = "logjam's own, not published: 16 operations, half reads of rows, half "
                    "overwrite rows; key = zipfian rank, theta 0.6",
            .read_ratio = 0.5,
            .update = Update::kRow,
            .distribution = Distribution::kZipf,
            .theta = 0.6,
            .ops = 16,
            .hashed = false},
    Variant{.name = "silo",
            .what = "Silo's: 80 % reads, 20 % read-modify-writes of rows of 100 B, uniform keys",
            .read_ratio = 0.8,
            .update = Update::kReadRow,
            .distribution = Distribution::kUniform,
            .theta = 0,
            .value_bytes = 100,
            .hashed = false,
            .ordered = true},
};

}  // namespace

std::span<const Variant> variants() { return kVariants; }

const Variant* find_variant(std::string_view name) {
  const auto* found = std::ranges::find(kVariants, name, &Variant::name);
  return found == kVariants.end() ? nullptr : found;
}

}  // namespace logjam::ycsb
