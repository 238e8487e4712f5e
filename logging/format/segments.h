// How a log file is divided into segment files. Segment 0 is the log file itself, with the header;
// segment k of `stream-0.log.db` is `stream-0.log.db.k`. A log file is the concatenation of its
// segments. Its byte at offset `at` lies in segment at / bytes, at offset at % bytes. Only the
// first `bytes` bytes of a segment file count.
//
// A writer makes the segments in order, and begins a segment only when the previous segment's
// bytes, length and name are durable. So after a crash, no segment file is missing or too short
// before an existing segment file. The only exceptions are segments before the stream's start that
// the log has released (logging/device/device_file.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace logjam {

// The most bytes of a log file with all its segments. The sum of two such lengths, and a stream of
// kMaxStripes such files, still fit in 64 bits.
inline constexpr uint64_t kMostLogFileBytes = uint64_t{1} << 50;

struct Segments {
  uint64_t bytes = 0;  // the length of each segment; 0: the log file is one file of any length

  uint64_t index(uint64_t at) const { return bytes == 0 ? 0 : at / bytes; }
  uint64_t within(uint64_t at) const { return bytes == 0 ? at : at % bytes; }
  uint64_t left(uint64_t at) const { return bytes == 0 ? ~uint64_t{0} : bytes - at % bytes; }
};

std::string segment_path(const std::string& path, uint64_t index);

struct SegmentFile {
  std::string log_file;  // the path of the log file to which the segment belongs
  uint64_t index = 0;    // at least 1
  uint64_t bytes = 0;
};
// Sets `files` to the segment files in `directory`, even if their log file is missing, sorted by
// log file and index. A missing directory has no files. Returns 0, or errno with `files` undefined.
[[nodiscard]] int segment_files_in(const std::string& directory, std::vector<SegmentFile>* files);
// Sets `files` to the segment files of the log file at `path`, as segment_files_in() does.
[[nodiscard]] int segment_files_of(const std::string& path, std::vector<SegmentFile>* files);

// Reads a log file and its segment files as one file. One thread at a time may use the object.
// Keeps only one file open, because a log may have more segments than a process may open.
class SegmentedFile {
 public:
  // Opens the log file. On failure error() says why in one sentence. The caller reads no byte
  // before `needed`, so earlier segment files may be missing, but not the log file.
  SegmentedFile(const std::string& path, Segments segments, uint64_t needed = 0);
  ~SegmentedFile();
  SegmentedFile(const SegmentedFile&) = delete;
  SegmentedFile& operator=(const SegmentedFile&) = delete;

  const std::string& error() const { return error_; }
  // Returns the offset after the last byte that any of the files has.
  uint64_t bytes() const { return bytes_; }
  // Returns which file is missing or too short although a later segment file exists, or an empty
  // string. No crash explains this loss.
  const std::string& why_lost() const { return why_lost_; }

  // Reads up to `count` bytes from offset `from` on, and lost bytes as zeros. Returns how many it
  // read: less than `count` only at bytes() or if the files have shrunk. Fails on a read error.
  uint64_t read(std::byte* to, uint64_t from, uint64_t count);
  // Asks the kernel to read ahead, up to the end of the segment of `from`.
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
