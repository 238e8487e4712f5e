// platform/files.h: the system's files, the files in memory, and the functions that use both kinds.
#include "platform/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>

#include "proof/disk/memory_files.h"
#include "tests/temporary_directory.h"
#include "tests/wrapped_files.h"

namespace logjam {
namespace {

using platform::Files;
using platform::files;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// Calls functions on files below `root`; `seed` chooses the calls. Returns the calls' results.
std::string do_at_random(Files& files, const std::string& root, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::map<int, int> open;  // open files, numbered in the order of their opening
  std::string said;
  const auto path = [&] {
    static constexpr const char* kPaths[] = {"a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "a/b"};
    return root + "/" + kPaths[random() % std::size(kPaths)];
  };
  const auto file = [&] {
    if (open.empty()) return -1;
    return std::next(open.begin(), static_cast<ptrdiff_t>(random() % open.size()))->second;
  };
  const auto say = [&](const char* what, int64_t result) {
    said += std::string(what) + " " + std::to_string(result) + "\n";
  };
  for (int i = 0, opened = 0; i < 400; ++i) {
    const std::string one = path(), other = path();
    const int of = file();
    const uint64_t at = random() % 3000, length = random() % 2000;
    switch (random() % 15) {
      case 0:
      case 1: {
        static constexpr int kFlags[] = {O_RDWR | O_CREAT,
                                         O_RDWR | O_CREAT | O_EXCL,
                                         O_RDONLY,
                                         O_RDWR,
                                         O_RDWR | O_TRUNC,
                                         O_WRONLY | O_CREAT | O_TRUNC,
                                         O_RDONLY | O_DIRECTORY};
        const int flags = kFlags[random() % std::size(kFlags)];
        const int file = files.open(one, flags);
        say("open", std::min(file, 0));
        if (file >= 0) open[opened++] = file;
        break;
      }
      case 2:
        if (open.size() > 4) {
          files.close(open.begin()->second);
          open.erase(open.begin());
        }
        break;
      case 3:
      case 4: {
        std::vector<std::byte> bytes(length, std::byte(random() % 4 * 7));
        say("write", files.write(of, at, bytes, random() % 32 == 0));
        break;
      }
      case 5: {
        std::string text(length, '-');
        say("read", files.read(of, at, std::as_writable_bytes(std::span(text))));
        said += std::to_string(std::hash<std::string>()(text)) + "\n";
        break;
      }
      case 6:
        say("resize", files.resize(of, at));
        break;
      case 7: {
        uint64_t bytes = 0;
        const int error = files.size(of, &bytes);
        platform::FileStatus status;
        // File systems differ in the length of a directory, so only lengths of files are compared.
        say("size", error);
        if (files.status(one, &status) == 0 && status.kind == platform::FileKind::kFile) {
          say("bytes", static_cast<int64_t>(status.bytes));
        }
        break;
      }
      case 8:
        if (random() % 8 == 0) say("sync", files.sync(of));
        if (random() % 8 == 0) say("sync data", files.sync_data(of));
        break;
      case 9: {
        platform::FileStatus status;
        say("status", files.status(one, &status));
        say("kind", static_cast<int>(status.kind));
        break;
      }
      case 10: {
        std::vector<std::string> names;
        say("list", files.list(one, &names));
        for (const std::string& name : names) said += name + " ";
        break;
      }
      case 11:
        say("rename", files.rename(one, other));
        break;
      case 12:
        say("remove", files.remove(one));
        break;
      case 13:
        say("mkdir", files.make_directory(one));
        break;
      case 14:
        say("rmdir", files.remove_directory(one));
        break;
    }
  }
  for (const auto& [order, file] : open) files.close(file);
  return said;
}

TEST(Files, AFileSystemInMemoryAnswersAsTheSystemsDoes) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const TemporaryDirectory directory;
    MemoryFiles memory;
    ASSERT_EQ(memory.make_directory("root"), 0);
    ASSERT_EQ(do_at_random(files(), directory.path(), seed), do_at_random(memory, "root", seed))
        << "seed " << seed;
  }
}

TEST(Files, AWriteThatTakesNothingIsAnError) {
  class Stuck : public WrappedFiles {
   public:
    int64_t write(int, uint64_t, std::span<const std::byte> bytes, bool) override {
      if (++calls > 5) std::abort();
      return calls < 3 ? static_cast<int64_t>(bytes.size() / 2) : 0;
    }
    int calls = 0;
  };
  Stuck stuck;
  const platform::ReplaceFiles replace(stuck);
  EXPECT_EQ(platform::write_all(-1, 0, std::vector<std::byte>(100)), EIO);
  EXPECT_EQ(stuck.calls, 3);
}

// The functions that use files() must have the same results on the system's files and on the files
// in memory. The parameter is true for the system's files.
class OnFiles : public testing::TestWithParam<bool> {
 protected:
  OnFiles() {
    if (!GetParam()) {
      replace_.emplace(memory_);
      EXPECT_EQ(platform::make_directories(directory_.path(), nullptr), 0);
    }
  }
  std::string path(const char* name) const { return directory_.path_of(name); }
  std::string text_of(const char* name) const {
    std::string text;
    EXPECT_EQ(platform::read_file(path(name), &text), 0);
    return text;
  }
  void create(const char* name, std::string_view text) {
    const int file = files().open(path(name), O_WRONLY | O_CREAT | O_TRUNC);
    ASSERT_GE(file, 0);
    EXPECT_EQ(platform::write_all(file, 0, bytes_of(text)), 0);
    files().close(file);
  }

  const TemporaryDirectory directory_;
  MemoryFiles memory_;
  std::optional<platform::ReplaceFiles> replace_;
};

TEST_P(OnFiles, AFileIsReadWholeOrNotAtAll) {
  const std::string text(40'000, 'x');
  create("a", text);
  EXPECT_EQ(text_of("a"), text);
  std::string read = "before";
  EXPECT_EQ(platform::read_file(path("a"), &read, text.size()), 0);
  EXPECT_EQ(platform::read_file(path("a"), &read, text.size() - 1), EFBIG);
  EXPECT_EQ(read, "");
  EXPECT_EQ(platform::read_file(path("b"), &read), ENOENT);
  EXPECT_EQ(platform::read_file(directory_.path(), &read), EISDIR);
}

TEST_P(OnFiles, AFileIsReplacedAndItsTemporaryFileIsGone) {
  ASSERT_EQ(platform::replace_file(path("a"), "one, longer"), 0);
  EXPECT_EQ(text_of("a"), "one, longer");
  create("a.new", "of a process that was killed, and longer than the next");
  ASSERT_EQ(platform::replace_file(path("a"), "two"), 0);
  EXPECT_EQ(text_of("a"), "two");
  std::vector<std::string> names;
  ASSERT_EQ(files().list(directory_.path(), &names), 0);
  EXPECT_EQ(names, std::vector<std::string>{"a"});
  EXPECT_EQ(platform::replace_file(path("none/a"), "x"), ENOENT);
}

TEST_P(OnFiles, DirectoriesAreMadeOutermostFirst) {
  std::vector<std::string> made;
  ASSERT_EQ(platform::make_directories(path("x/y/z"), &made), 0);
  EXPECT_EQ(made, (std::vector{path("x"), path("x/y"), path("x/y/z")}));
  made.clear();
  ASSERT_EQ(platform::make_directories(path("x/y/w/"), &made), 0);
  EXPECT_EQ(made, std::vector{path("x/y/w/")});
  ASSERT_EQ(platform::make_directories(path("x"), &made), 0);
  EXPECT_EQ(made.size(), 1u);
  create("file", "");
  EXPECT_EQ(platform::make_directories(path("file"), nullptr), ENOTDIR);
  EXPECT_EQ(platform::make_directories(path("file/x"), nullptr), ENOTDIR);
  EXPECT_EQ(platform::make_directories("/", nullptr), 0);
  EXPECT_EQ(platform::make_directories(".", nullptr), 0);
}

TEST_P(OnFiles, TheSyncOfSomethingThatIsNotThereIsAnError) {
  EXPECT_EQ(platform::sync_directory(path("x")), ENOENT);
  EXPECT_EQ(platform::sync_parent(path("x")), 0);
  EXPECT_EQ(platform::sync_parent(path("x/y")), ENOENT);
  EXPECT_EQ(platform::sync_parent("/"), 0);
  EXPECT_EQ(platform::sync_parent("x"), 0);
}

TEST_P(OnFiles, APunchedRangeReadsAsZeros) {
  create("a", std::string(4 * 4096, 'x'));
  const int file = files().open(path("a"), O_RDWR);
  const int error = files().punch(file, 4096, 2 * 4096);
  files().close(file);
  if (error == EOPNOTSUPP) GTEST_SKIP() << "the file system does not take blocks back";
  EXPECT_EQ(error, 0);
  EXPECT_EQ(text_of("a"),
            std::string(4096, 'x') + std::string(2 * 4096, '\0') + std::string(4096, 'x'));
}

INSTANTIATE_TEST_SUITE_P(Both, OnFiles, testing::Values(true, false),
                         [](const auto& info) { return info.param ? "System" : "Memory"; });

TEST(Files, StatusFollowsALinkAndMakeDirectoriesFollowsNone) {
  const TemporaryDirectory directory;
  const std::string link = directory.path_of("link"), dangling = directory.path_of("dangling");
  ASSERT_EQ(symlink(directory.path().c_str(), link.c_str()), 0);
  ASSERT_EQ(symlink("nowhere", dangling.c_str()), 0);
  platform::FileStatus status;
  EXPECT_EQ(files().status(link, &status), 0);
  EXPECT_EQ(status.kind, platform::FileKind::kDirectory);
  EXPECT_EQ(platform::make_directories(dangling, nullptr), ENOTDIR);
}

TEST(FilesDeathTest, WhatCannotBeReadIsAnErrorAndNotAnAbsence) {
  const TemporaryDirectory directory;
  const std::string closed = directory.path_of("closed");
  ASSERT_EQ(platform::make_directories(closed + "/x", nullptr), 0);
  ASSERT_EQ(chmod(directory.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(closed.c_str(), 0), 0);
  EXPECT_EXIT(
      {
        constexpr uid_t kNobody = 65534;
        // Root may read every file, so the test continues as another user. This user may not enter
        // the directories above, so the process enters the directory as root.
        if (chdir(directory.path().c_str()) != 0) _exit(1);
        if (geteuid() == 0 && seteuid(kNobody) != 0) _exit(1);
        const std::string hidden = "closed";
        platform::FileStatus status;
        std::vector<std::string> names = {"before"};
        std::string text;
        const bool good = files().status(hidden + "/x", &status) == EACCES &&
                          files().list(hidden, &names) == EACCES && names.empty() &&
                          platform::read_file(hidden + "/x", &text) == EACCES;
        _exit(good ? 0 : 2);
      },
      testing::ExitedWithCode(0), "");
  ASSERT_EQ(chmod(closed.c_str(), 0700), 0);
}

}  // namespace
}  // namespace logjam
