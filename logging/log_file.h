// The first block of every log stream's file: what run it belongs to, in text (R6).
//
//   logjam log 1
//   scheme=centr
//   ...one key=value a line...
//   end <XXH3-64 of all lines before, in hex>
//
// padded with zero bytes to kLogHeaderBytes. Records start behind it: stream position p is file
// offset kLogHeaderBytes + p, or in a striped stream, which has a file in each of several
// directories, where logging/stripes.h says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace logjam {

inline constexpr uint64_t kLogHeaderBytes = 4096;
inline constexpr uint32_t kMaxStripes = 1024;
inline constexpr uint64_t kStripeBytes = uint64_t{512} << 10;

struct LogFileHeader {
  std::string scheme;
  std::string device;
  std::string log_records;  // "txn" or "op"
  uint32_t stream = 0;
  uint32_t streams = 1;
  uint32_t stripe = 0;  // this file's place among the stream's `stripes` files
  uint32_t stripes = 1;
  uint64_t stripe_bytes = kStripeBytes;
  uint32_t workers = 1;
  uint64_t run = 0;  // random: tells this run's bytes from an earlier run's in a recycled file
  std::string revision;
  std::map<std::string, std::string> flags;  // workload and the flags that shape its initial load

  // kLogHeaderBytes bytes. Ends the process if the flags do not fit.
  std::vector<std::byte> encode() const;
  // Returns why `block` is not a header, in one sentence; empty if `*this` was filled.
  std::string decode(std::span<const std::byte> block);
};

// Reads the header of the file at `path`; returns why that cannot be done, in one sentence.
std::string read_log_file_header(const std::string& path, LogFileHeader* header);

std::string log_file_path(const std::string& directory, uint32_t stream);
// The log files that lie in `directory`, with their stream numbers. Unreadable: none.
std::vector<std::pair<uint32_t, std::string>> log_files_in(const std::string& directory);

}  // namespace logjam
