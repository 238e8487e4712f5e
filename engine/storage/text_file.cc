#include "engine/storage/text_file.h"

#include <cerrno>
#include <cstring>

#include "platform/fatal.h"

namespace logjam {

TextFile::TextFile(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "w")) {
  if (file_ == nullptr) fail();
}

TextFile::~TextFile() {
  if (std::fclose(file_) != 0) fail();
}

void TextFile::fail() { platform::fatal("cannot write " + path_ + ": " + strerror(errno)); }

void TextFile::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail();
}

void TextFile::flush() {
  if (std::fflush(file_) != 0) fail();
}

}  // namespace logjam
