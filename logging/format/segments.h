// How a log file is divided into segment files. Segment 0 is the log file itself, with the header;
// segment k of `stream-0.log.db` is `stream-0.log.db.k`. The segments, one behind the other, are
// the log file as it would be if it were one file: the byte at offset `at` lies in segment
// at / bytes, at at % bytes of it. Behind its `bytes` a segment file has nothing that counts.
//
// A writer makes the segments in order, and the next one only when all of one is durable: its bytes
// (zeros, or a recycled file's), its length and its name. So a crash never leaves a segment file
// behind one that is missing or too short, but for those before the stream's start that the log has
// released (logging/device/free_segments.h). Any thread may call any function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace logjam {

struct Segments {
  uint64_t bytes = 0;  // the length of each; 0: the log file is one file of any length

  uint64_t index(uint64_t at) const { return bytes == 0 ? 0 : at / bytes; }
  uint64_t within(uint64_t at) const { return bytes == 0 ? at : at % bytes; }
  // Returns how many bytes there are from `at` to the end of its segment.
  uint64_t left(uint64_t at) const { return bytes == 0 ? ~uint64_t{0} : bytes - at % bytes; }
};

// Returns the path of segment `index` of the log file at `path`.
std::string segment_path(const std::string& path, uint64_t index);

struct SegmentFile {
  std::string log_file;  // the path of the log file that it continues
  uint64_t index = 0;    // at least 1
  uint64_t bytes = 0;
};
// Returns the segment files that lie in `directory`, which need not have their log files there, in
// the order of log file and index. Returns none if the directory cannot be read.
std::vector<SegmentFile> segment_files_in(const std::string& directory);
// Returns those of the log file at `path`.
std::vector<SegmentFile> segment_files_of(const std::string& path);

}  // namespace logjam
