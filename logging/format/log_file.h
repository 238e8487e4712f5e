// The header block, with which every log file begins. It is text (text_block.h) that says to which
// run the file belongs (R6), padded with zeros to kLogHeaderBytes. The records follow: stream
// position p is file offset kLogHeaderBytes + p. A striped stream has several files (Stripes), and
// a file may continue in segment files (segments.h). Any thread may call any function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "logging/format/text_block.h"
#include "platform/assert.h"

namespace logjam {

inline constexpr uint64_t kLogHeaderBytes = 4096;
// A header with larger numbers is refused. So numbers that are computed from a header fit in 64
// bits, and their data in memory.
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
  uint64_t segment_bytes = 0;  // the length of a segment file; 0: there are no segment files
  uint32_t workers = 1;
  uint64_t run = 0;      // random: identifies this run's bytes in a recycled file
  uint64_t log = 0;      // random: the log to which the run belongs (logging/format/manifest.h)
  uint32_t ordinal = 1;  // the number of the run in its log, from 1; numbers may be missing
  std::string revision;
  // Texts for people, empty if unknown: the workload of the run in one line, and the run's flags.
  std::string scale, given;
  std::map<std::string, std::string> flags;  // the workload, and the flags for its initial load

  KeyValues lines() const;
  // Fills `*this` from lines and returns an empty string. If `lines` are not the lines of a header,
  // leaves `*this` unchanged and returns the reason, worded to follow "PATH is not a log file: ".
  std::string read(const KeyValues& lines);
  // Returns the header block. Refuses if the flags do not fit into it.
  std::vector<std::byte> encode() const;
  // Returns which run wrote the log, for people: "scheme S, run R".
  std::string origin() const;
  // Fills `*this` from a whole header block, with the same results as read().
  std::string decode(std::span<const std::byte> block);
};

// Reads the header of the file at `path`. Returns an empty string or, in one sentence, why the
// header cannot be read. Sets `error`, unless null, to the errno of the failed read, or to 0.
std::string read_log_file_header(const std::string& path, LogFileHeader* header,
                                 int* error = nullptr);

std::string log_file_path(const std::string& directory, uint32_t stream);
// Sets `files` to the log files in `directory` with their stream numbers, sorted. A directory that
// does not exist has no files. Returns 0, or errno with `files` undefined.
[[nodiscard]] int log_files_in(const std::string& directory,
                               std::vector<std::pair<uint32_t, std::string>>* files);
// Returns the path of a log file in `directory` whose header names `log`, or an empty string.
std::string log_file_of(uint64_t log, const std::string& directory);
// Returns the paths of a run's files: first the files of stream 0 in stripe order, then of stream
// 1, and so on. Path number i lies in directory i modulo the number of directories.
std::vector<std::string> log_file_paths(const std::vector<std::string>& directories,
                                        uint32_t streams, uint32_t stripes);
// Returns whether the file can be read and has only zeros: its run has not written a header yet.
bool log_file_is_blank(const std::string& path);

// A scheme may store SDL, the position up to which the stream is durable, on the device (ELEDA,
// section 4.3): 8 bytes of SDL and their XXH3-64, seeded with the run, end the header block of the
// stream's first file. So a log that ends before its SDL has lost durable bytes, and is not just
// torn.
//
// To store an SDL, the whole block is written again. If power is lost during this write, each
// sector has its old or its new bytes. The header text is the same in both, so a torn write can
// lose only the SDL. After this loss, the header does not vouch for the end of the log.
inline constexpr uint64_t kStoredSdlBytes = 16;
void put_stored_sdl(std::span<std::byte> block, uint64_t run, uint64_t sdl);
// Returns the SDL in a header block, or 0 if the block has no SDL of run `run`.
uint64_t stored_sdl(std::span<const std::byte> block, uint64_t run);

// Maps the positions of a striped stream to offsets in its files, one file for each device. Stripe
// s belongs to device s % `devices`. In the device's file, the stripe lies directly after the
// device's earlier stripes. With one device the stream is not divided into stripes.
struct Stripes {
  uint32_t devices = 1;
  uint64_t bytes = kStripeBytes;  // the length of a stripe

  uint32_t device(uint64_t position) const {
    return devices == 1 ? 0 : static_cast<uint32_t>(position / bytes % devices);
  }
  uint64_t file_offset(uint64_t position) const {
    if (devices == 1) return kLogHeaderBytes + position;
    return kLogHeaderBytes + position / bytes / devices * bytes + position % bytes;
  }
  // Returns the file offset after the device's last byte before stream position `position`.
  uint64_t file_end(uint32_t device, uint64_t position) const {
    if (devices == 1) return kLogHeaderBytes + position;
    const uint64_t stripe = position / bytes, row = stripe / devices, last = stripe % devices;
    const uint64_t of_row = device < last ? bytes : device == last ? position % bytes : 0;
    return kLogHeaderBytes + row * bytes + of_row;
  }
  uint64_t stripe_end(uint64_t position) const {
    return devices == 1 ? ~uint64_t{0} : position - position % bytes + bytes;
  }
  uint64_t first(uint32_t device) const { return device * bytes; }
  // Returns the stream position of the device's first byte that does not lie before `end`.
  uint64_t next(uint64_t end) const {
    return devices == 1 || end % bytes != 0 ? end : end + (devices - 1) * bytes;
  }
  // Returns the stream position after the last byte in the file of `device`, of `file_bytes` bytes.
  uint64_t stream_end(uint32_t device, uint64_t file_bytes) const {
    const uint64_t held = file_bytes < kLogHeaderBytes ? 0 : file_bytes - kLogHeaderBytes;
    if (devices == 1 || held == 0) return held;
    return position(device, file_bytes - 1) + 1;
  }
  uint64_t position(uint32_t device, uint64_t file_offset) const {
    LJ_ASSERT(file_offset >= kLogHeaderBytes && device < devices);
    const uint64_t at = file_offset - kLogHeaderBytes;
    return devices == 1 ? at : (at / bytes * devices + device) * bytes + at % bytes;
  }
};

}  // namespace logjam
