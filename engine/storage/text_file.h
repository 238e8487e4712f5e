// A text file that is written once, from its beginning to its end.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace logjam {

// A failed write ends the process with one sentence (R7). One thread uses an object.
class TextFile {
 public:
  // Creates or replaces the file.
  explicit TextFile(const std::string& path);
  // Completes the file.
  ~TextFile();
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  void write(std::string_view text);
  // Puts all written text into the file, where it stays if the process is killed.
  void flush();

 private:
  [[noreturn]] void fail();

  std::string path_;
  std::FILE* file_;
};

}  // namespace logjam
