// A fixture for tests on a file system in memory.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/files.h"
#include "proof/disk/memory_files.h"

namespace logjam {

using Texts = std::set<std::string>;
inline constexpr size_t kMost = 64;
inline constexpr const char* kNone = "(none)";

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

class OnMemoryFiles : public testing::Test {
 protected:
  // Creates or opens a file and writes to it.
  void write(const std::string& path, std::string_view text, uint64_t offset = 0,
             bool synced = false) {
    const int file = platform::files().open(path, O_RDWR | O_CREAT);
    ASSERT_GE(file, 0) << path;
    EXPECT_EQ(platform::write_all(file, offset, bytes_of(text), synced), 0);
    platform::files().close(file);
  }
  void sync(const std::string& path) {
    const int file = platform::files().open(path, O_RDONLY);
    ASSERT_GE(file, 0) << path;
    EXPECT_EQ(platform::files().sync(file), 0);
    platform::files().close(file);
  }
  void resize(const std::string& path, uint64_t bytes) {
    const int file = platform::files().open(path, O_RDWR);
    EXPECT_EQ(platform::files().resize(file, bytes), 0);
    platform::files().close(file);
  }
  // Writes a file that exists in every later crash state.
  void write_durably(const std::string& path, std::string_view text) {
    write(path, text);
    sync(path);
    EXPECT_EQ(platform::sync_parent(path), 0);
  }

  static std::string text_in(const CrashState& state, const std::string& path) {
    MemoryFiles after(state);
    const platform::ReplaceFiles replace(after);
    std::string text;
    const int error = platform::read_file(path, &text);
    EXPECT_TRUE(error == 0 || error == ENOENT) << error;
    return error == 0 ? text : kNone;
  }
  // Returns the contents that the file at `path` may have after a crash now.
  std::set<std::string> texts(const std::string& path, size_t most = kMost) const {
    std::set<std::string> texts;
    for (const CrashState& state : now(most)) texts.insert(text_in(state, path));
    return texts;
  }
  std::vector<CrashState> now(size_t most = kMost) const {
    return disk_.states_after(disk_.steps(), most, 1);
  }

  MemoryFiles disk_;
  const platform::ReplaceFiles replace_{disk_};
};

}  // namespace logjam
