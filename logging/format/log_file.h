// The first block of every log file. It says in text which run the file belongs to (R6).
//
//   logjam log 2
//   scheme=centr
//   ...one key=value a line...
//   end <XXH3-64 of all lines before, in hex>
//
// The block is padded with zero bytes to kLogHeaderBytes. Records start behind it. Stream position
// p is file offset kLogHeaderBytes + p. A striped stream has a file in each of several directories,
// and logging/format/stripes.h says where position p lies. A file may go on in segment files:
// logging/format/segments.h. Any thread may call any function.
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
  std::string log_records;  // "txn", "op" or "command"
  uint32_t stream = 0;
  uint32_t streams = 1;
  uint32_t stripe = 0;  // this file's place among the stream's `stripes` files
  uint32_t stripes = 1;
  uint64_t stripe_bytes = kStripeBytes;
  uint64_t segment_bytes = 0;  // of each of its segment files; 0: it has none
  uint32_t workers = 1;
  uint64_t run = 0;  // random: tells this run's bytes from an earlier run's in a recycled file
  // The runs that continue each other in the same directories are numbered from 1. What follows is
  // said of runs from the second on (logging/format/run_directories.h): the first run's number, the
  // number of the run before, and how many bytes all its streams had when this one began.
  uint32_t ordinal = 1;
  uint64_t first_run = 0;
  uint64_t after = 0;
  uint64_t after_bytes = 0;
  std::string revision;
  std::map<std::string, std::string> flags;  // workload and the flags that shape its initial load

  // Returns the block, of kLogHeaderBytes bytes. Ends the process with one sentence if the flags do
  // not fit.
  std::vector<std::byte> encode() const;
  // Which run wrote the log, for people: "scheme S, run R".
  std::string origin() const;
  // Fills `*this` from `block` and returns an empty string, or returns why `block` is not a header,
  // in one sentence, and leaves `*this` unchanged.
  std::string decode(std::span<const std::byte> block);
};

// Reads the header of the file at `path`. Returns an empty string, or why the header cannot be
// read, in one sentence.
std::string read_log_file_header(const std::string& path, LogFileHeader* header);

// Returns the path of the log file of `stream` in `directory`.
std::string log_file_path(const std::string& directory, uint32_t stream);
// Returns the log files that lie in `directory`, with their stream numbers, in order. Returns none
// if the directory cannot be read.
std::vector<std::pair<uint32_t, std::string>> log_files_in(const std::string& directory);
// Returns whether the file at `path` holds zeros and nothing else: a run was about to begin its log
// there. Returns false if the file cannot be read.
bool log_file_is_blank(const std::string& path);

// While a run replaces the log in its directories, each has a starting file with the new log's
// header. See logging/log_directories.h. starting_log() returns whether `directory` has a valid
// one, and sets `header`.
std::string starting_file_path(const std::string& directory);
bool starting_log(const std::string& directory, LogFileHeader* header);

}  // namespace logjam
