// A file system that holds an input: files in memory that are read and never written.
#pragma once

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "platform/files.h"

namespace logjam::fuzz {

// Any thread may read. Paths have the form "a/b".
class ByteFiles final : public platform::Files {
 public:
  // Adds a file, or replaces it; `zeros` more bytes of 0 end it. Called before the files are read.
  void add(const std::string& path, std::vector<std::byte> bytes, uint64_t zeros = 0) {
    files_[path] = {std::move(bytes), zeros};
  }

  int open(const std::string& path, int flags, int) override {
    if ((flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0) return -EROFS;
    const auto found = files_.find(path);
    return found == files_.end() ? -ENOENT : kFirst + static_cast<int>(index_of(found));
  }
  int hold(const std::string&) override { return kFirst; }
  bool still_there(int) override { return true; }
  void close(int) override {}
  int64_t read(int file, uint64_t offset, std::span<std::byte> into) override {
    const Content& from = content(file);
    if (offset >= from.size()) return 0;
    const size_t count = std::min<uint64_t>(into.size(), from.size() - offset);
    const size_t stored = std::min(count, from.bytes.size() - std::min(offset, from.bytes.size()));
    if (stored != 0) std::memcpy(into.data(), from.bytes.data() + offset, stored);
    std::ranges::fill(into.subspan(stored, count - stored), std::byte{0});
    return static_cast<int64_t>(count);
  }
  int size(int file, uint64_t* bytes) override {
    *bytes = content(file).size();
    return 0;
  }
  int status(const std::string& path, platform::FileStatus* status) override {
    const auto found = files_.find(path);
    *status = {};
    if (found != files_.end()) *status = {platform::FileKind::kFile, found->second.size()};
    return 0;
  }
  int list(const std::string& directory, std::vector<std::string>* names) override {
    names->clear();
    const std::string begin = directory + "/";
    for (auto at = files_.lower_bound(begin); at != files_.end(); ++at) {
      if (!at->first.starts_with(begin)) break;
      if (at->first.find('/', begin.size()) == std::string::npos) {
        names->push_back(at->first.substr(begin.size()));
      }
    }
    return 0;
  }
  int identity(int file, std::pair<uint64_t, uint64_t>* identity) override {
    *identity = {0, static_cast<uint64_t>(file)};
    return 0;
  }
  int lock(int, bool, bool) override { return 0; }

  int64_t write(int, uint64_t, std::span<const std::byte>, bool) override { return -EROFS; }
  int resize(int, uint64_t) override { return EROFS; }
  int sync(int) override { return EROFS; }
  int sync_data(int) override { return EROFS; }
  int allocate(int, uint64_t) override { return EROFS; }
  int punch(int, uint64_t, uint64_t) override { return EROFS; }
  int rename(const std::string&, const std::string&) override { return EROFS; }
  int remove(const std::string&) override { return EROFS; }
  int make_directory(const std::string&) override { return EROFS; }
  int remove_directory(const std::string&) override { return EROFS; }

 private:
  struct Content {
    std::vector<std::byte> bytes;
    uint64_t zeros = 0;

    uint64_t size() const { return bytes.size() + zeros; }
  };
  using Contents = std::map<std::string, Content>;
  static constexpr int kFirst = 1 << 20;  // no descriptor of the kernel

  size_t index_of(Contents::iterator found) {
    return static_cast<size_t>(std::distance(files_.begin(), found));
  }
  const Content& content(int file) { return std::next(files_.begin(), file - kFirst)->second; }

  Contents files_;
};

}  // namespace logjam::fuzz
