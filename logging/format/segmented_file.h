// Reads a log file and its segment files (logging/format/segments.h) as if they were one file. One
// thread at a time may use a SegmentedFile. It keeps only one file open, because a log may have
// more segments than a process may have open files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "logging/format/segments.h"

namespace logjam {

class SegmentedFile {
 public:
  // Opens the log file at `path`. On failure error() says why in one sentence; otherwise it is
  // empty. No byte before `needed` will be read, so segments before it may be missing, except the
  // log file itself.
  SegmentedFile(const std::string& path, Segments segments, uint64_t needed = 0);
  ~SegmentedFile();
  SegmentedFile(const SegmentedFile&) = delete;
  SegmentedFile& operator=(const SegmentedFile&) = delete;

  const std::string& error() const { return error_; }
  // Returns the offset after the last byte that any of the files has.
  uint64_t bytes() const { return bytes_; }
  // Returns which file is missing or too short although a later one exists, or an empty string if
  // none is. No crash explains such a loss, and records after the lost bytes may be lost with them.
  const std::string& why_lost() const { return why_lost_; }

  // Reads up to `count` bytes from offset `from` on, and returns how many it has read: fewer than
  // `count` only at bytes(), or if the files have shrunk. Lost bytes read as zeros. Ends the
  // process if a file cannot be read.
  uint64_t read(std::byte* to, uint64_t from, uint64_t count);
  // Asks the kernel to read `count` bytes from `from` on ahead, up to the end of their segment.
  void will_need(uint64_t from, uint64_t count);

 private:
  // Opens the segment unless it is open already. Returns false if it is missing.
  bool open_segment(uint64_t index);
  uint64_t read_segment(std::byte* to, uint64_t from, uint64_t count);

  const std::string path_;
  const Segments segments_;
  std::string error_, why_lost_;
  uint64_t bytes_ = 0;
  uint64_t last_ = 0;  // the index of the last segment that exists
  uint64_t open_index_ = 0;
  int file_;  // the open file of segment open_index_, or negative
};

}  // namespace logjam
