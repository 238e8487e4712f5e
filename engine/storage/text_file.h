// A text file that is written once, from its beginning to its end.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace logjam {

// One thread uses an object. What cannot be written ends the process with one sentence (R7).
class TextFile {
 public:
  // Creates or replaces the file.
  explicit TextFile(const std::string& path);
  // The file is complete.
  ~TextFile();
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  void write(std::string_view text);
  // What was written is in the file, also if the process is killed.
  void flush();

 private:
  [[noreturn]] void fail();

  std::string path_;
  std::FILE* file_;
};

}  // namespace logjam
