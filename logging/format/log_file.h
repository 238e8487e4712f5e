// The first block of every log file. It says in text to which run the file belongs (R6).
//
//   logjam log 4
//   scheme=centr
//   ...one key=value a line...
//   end <XXH3-64 of all lines before, in hex>
//
// The block is padded with zero bytes to kLogHeaderBytes; its last 16 bytes may hold an SDL
// (put_stored_sdl()). The records follow it: stream position p
// is file offset kLogHeaderBytes + p. A striped stream has a file in each of several directories,
// and logging/format/stripes.h says where position p lies. A file may continue in segment files
// (logging/format/segments.h). Any thread may call any function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "logging/format/text_block.h"

namespace logjam {

inline constexpr uint64_t kLogHeaderBytes = 4096;
// A header with larger numbers is refused. Whatever a command computes from a header or a manifest
// then fits in 64 bits, and in memory.
inline constexpr uint32_t kMaxStripes = 1024;
inline constexpr uint64_t kMostLogFiles = uint64_t{1} << 20;
inline constexpr uint32_t kMostOrdinal = uint32_t{1} << 30;
inline constexpr uint64_t kMostPosition = uint64_t{1} << 60;  // in a stream
inline constexpr uint64_t kStripeBytes = uint64_t{512} << 10;

struct LogFileHeader {
  std::string scheme;
  std::string device;
  std::string log_records;  // "txn", "op" or "command"
  uint32_t stream = 0;
  uint32_t streams = 1;
  uint32_t stripe = 0;  // this file's index among the stream's `stripes` files
  uint32_t stripes = 1;
  uint64_t stripe_bytes = kStripeBytes;
  uint64_t segment_bytes = 0;  // the length of a segment file; 0: the file has none
  uint32_t workers = 1;
  uint64_t run = 0;  // random: tells this run's bytes from an earlier run's in a recycled file
  uint64_t log = 0;  // random: the log to which the run belongs (logging/format/manifest.h)
  // The number of the run in its log, from 1. A log may lack numbers.
  uint32_t ordinal = 1;
  std::string revision;
  // For people, and empty if unknown: the workload of the run in one line, and the run's flags.
  std::string scale, given;
  std::map<std::string, std::string> flags;  // workload and the flags that shape its initial load

  // Returns the lines of the header.
  KeyValues lines() const;
  // Fills `*this` from lines and returns an empty string. If they are not those of a header,
  // returns the reason, in words that follow "PATH is not a log file: ", and leaves `*this`
  // unchanged.
  std::string read(const KeyValues& lines);
  // Returns the block, of kLogHeaderBytes bytes. Refuses if the flags do
  // not fit.
  std::vector<std::byte> encode() const;
  // Returns which run wrote the log, for people: "scheme S, run R".
  std::string origin() const;
  // Fills `*this` from `block` and returns an empty string. If `block` is not a header, returns the
  // reason in one sentence and leaves `*this` unchanged.
  std::string decode(std::span<const std::byte> block);
};

// Reads the header of the file at `path`. Returns an empty string or, in one sentence, why the
// header cannot be read. Sets `error`, unless it is null, to the errno with which the file cannot
// be read, or to 0.
std::string read_log_file_header(const std::string& path, LogFileHeader* header,
                                 int* error = nullptr);

// Returns the path of the log file of `stream` in `directory`.
std::string log_file_path(const std::string& directory, uint32_t stream);
// Sets `files` to the log files in `directory` with their stream numbers, sorted. A directory that
// does not exist has none. Returns 0 or errno, with which `files` is undefined.
[[nodiscard]] int log_files_in(const std::string& directory,
                               std::vector<std::pair<uint32_t, std::string>>* files);
// Returns the path of a log file in `directory` that has a header of `log`, or an empty string.
std::string log_file_of(uint64_t log, const std::string& directory);
// Returns the paths of the files of a run in its directories: those of stream 0 in stripe order,
// then those of stream 1, and so on. File number F lies in directory F modulo their number.
std::vector<std::string> log_file_paths(const std::vector<std::string>& directories,
                                        uint32_t streams, uint32_t stripes);
// Returns whether the file at `path` holds only zeros: a run was about to begin its log there.
// Returns false if the file cannot be read.
bool log_file_is_blank(const std::string& path);

// SDL as a scheme may store it on the device (ELEDA, section 4.3): the position up to which a
// stream is durable, in the last 16 bytes of the header block of the stream's first file.
//
//   8 bytes   SDL
//   8 bytes   XXH3-64 of these, seeded with the run
//
// The block is written again as a whole. A device that loses power leaves each of its sectors as it
// was, or as it should be, and the text of the header is the same in both. So a torn write can only
// lose the SDL, and then nothing vouches for the end of the log.
inline constexpr uint64_t kStoredSdlBytes = 16;
// Puts the SDL of `run` into a header block.
void put_stored_sdl(std::span<std::byte> block, uint64_t run, uint64_t sdl);
// Returns the SDL in a header block, or 0 if the block has none of `run`.
uint64_t stored_sdl(std::span<const std::byte> block, uint64_t run);

}  // namespace logjam
