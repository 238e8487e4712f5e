// A file system that passes every call to another file system. A test derives from this class, and
// overrides the calls that it watches or lets fail. File descriptors belong to the wrapped file
// system.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "platform/files.h"

namespace logjam {

class WrappedFiles : public platform::Files {
 public:
  explicit WrappedFiles(platform::Files& inner = platform::files()) : inner_(inner) {}

  int open(const std::string& path, int flags, int mode = 0644) override {
    return inner_.open(path, flags, mode);
  }
  int hold(const std::string& directory) override { return inner_.hold(directory); }
  bool still_there(int held) override { return inner_.still_there(held); }
  void close(int file) override { inner_.close(file); }
  int64_t read(int file, uint64_t offset, std::span<std::byte> into) override {
    return inner_.read(file, offset, into);
  }
  int64_t write(int file, uint64_t offset, std::span<const std::byte> bytes, bool synced) override {
    return inner_.write(file, offset, bytes, synced);
  }
  int synced_write_error() override { return inner_.synced_write_error(); }
  int resize(int file, uint64_t bytes) override { return inner_.resize(file, bytes); }
  int size(int file, uint64_t* bytes) override { return inner_.size(file, bytes); }
  int sync(int file) override { return inner_.sync(file); }
  int sync_data(int file) override { return inner_.sync_data(file); }
  int allocate(int file, uint64_t bytes) override { return inner_.allocate(file, bytes); }
  int punch(int file, uint64_t begin, uint64_t bytes) override {
    return inner_.punch(file, begin, bytes);
  }
  int lock(int file, bool alone, bool waits) override { return inner_.lock(file, alone, waits); }
  int identity(int file, std::pair<uint64_t, uint64_t>* identity) override {
    return inner_.identity(file, identity);
  }
  int status(const std::string& path, platform::FileStatus* status) override {
    return inner_.status(path, status);
  }
  int list(const std::string& directory, std::vector<std::string>* names) override {
    return inner_.list(directory, names);
  }
  int rename(const std::string& from, const std::string& to) override {
    return inner_.rename(from, to);
  }
  int remove(const std::string& path) override { return inner_.remove(path); }
  int make_directory(const std::string& path) override { return inner_.make_directory(path); }
  int remove_directory(const std::string& path) override { return inner_.remove_directory(path); }

 private:
  platform::Files& inner_;
};

}  // namespace logjam
