// Reads a log file and its segment files (logging/format/segments.h) as if they were one file. One
// thread at a time may use a SegmentedFile. It keeps one file open, for a log may have more
// segments than a process may have open files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "logging/format/segments.h"

namespace logjam {

class SegmentedFile {
 public:
  // The log file at `path`. error() is then empty, or says in one sentence why it cannot be opened.
  // No byte before `needed` will be read: segments before it may be gone, but for the log file
  // itself.
  SegmentedFile(const std::string& path, Segments segments, uint64_t needed = 0);
  ~SegmentedFile();
  SegmentedFile(const SegmentedFile&) = delete;
  SegmentedFile& operator=(const SegmentedFile&) = delete;

  const std::string& error() const { return error_; }
  // The position behind the last byte that any of the files has.
  uint64_t bytes() const { return bytes_; }
  // The bytes from lost_from() to lost_to() are lost, which no crash explains: a file is missing or
  // too short, and one behind it is there. why_lost() says which. It is empty if there are none.
  uint64_t lost_from() const { return lost_from_; }
  uint64_t lost_to() const { return lost_to_; }
  const std::string& why_lost() const { return why_lost_; }

  // Reads up to `count` bytes from `from` on, and returns how many: fewer than `count` only at
  // bytes(), or if the files have shrunk. Lost bytes read as zeros. Ends the process if a file
  // cannot be read.
  uint64_t read(std::byte* to, uint64_t from, uint64_t count);
  // Asks the kernel to read ahead in the segment of `from`.
  void will_need(uint64_t from, uint64_t count);

 private:
  // Opens the segment, if it is not open. Returns false if it is missing.
  bool open_segment(uint64_t index);
  uint64_t read_segment(std::byte* to, uint64_t from, uint64_t count);

  const std::string path_;
  const Segments segments_;
  std::string error_, why_lost_;
  uint64_t bytes_ = 0, lost_from_ = 0, lost_to_ = 0;
  uint64_t last_ = 0;  // the index of the last segment that is there
  uint64_t open_index_ = 0;
  int fd_;
};

}  // namespace logjam
