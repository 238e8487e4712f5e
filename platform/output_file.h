// A text file that a command writes for its user. It may also be a terminal, a pipe, /dev/null or
// /dev/stdout. A failed write ends the process with one sentence (R7).
//
// If the file is the stdout of the process, it is written through stdout. A second open file would
// have its own offset, and its text and the printed text would overwrite each other. If the reader
// of stdout has ended, the text is lost, and nothing else changes.
#pragma once

#include <string>
#include <string_view>

namespace logjam::platform {

// Keeps stdout for files named "-". All other text goes to stderr. Call it before any output.
void reserve_stdout();

bool is_stdout(int file);

// Opens or creates a file for writing; "-" is stdout. A regular file is also opened for reading.
// `flags` are more flags of open(). Returns a descriptor that the caller closes, or -1 and errno.
int open_output(const std::string& path, int flags = 0);

// Writes all of the text. Returns 0 or errno; 0 also if the reader of stdout is gone.
[[nodiscard]] int write_text(int file, std::string_view text);

// Returns why the printed text has not reached stdout, or an empty string.
std::string lost_stdout();

// A file that is written once, from its beginning to its end, by one thread.
class OutputFile {
 public:
  // Creates or replaces the file.
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);
  // Puts all written text into the file, where it stays if the process is killed.
  void flush();

 private:
  [[noreturn]] void fail(int error) const;

  const std::string path_;
  int file_;
  std::string waiting_;
};

}  // namespace logjam::platform
