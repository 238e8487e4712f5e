// tests/memory_files.h: what a crash may leave, and what it may not.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <thread>

#include "platform/files.h"
#include "tests/memory_files.h"

namespace logjam {
namespace {

using platform::files;

constexpr size_t kMost = 64;
constexpr const char* kNone = "(none)";

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// Uses the file system in memory for one test.
class CrashStates : public testing::Test {
 protected:
  // Creates or opens a file and writes to it.
  void write(const std::string& path, std::string_view text, uint64_t offset = 0,
             bool synced = false) {
    const int file = files().open(path, O_RDWR | O_CREAT);
    ASSERT_GE(file, 0) << path;
    EXPECT_EQ(platform::write_all(file, offset, bytes_of(text), synced), 0);
    files().close(file);
  }
  void sync(const std::string& path) {
    const int file = files().open(path, O_RDONLY);
    ASSERT_GE(file, 0) << path;
    EXPECT_EQ(files().sync(file), 0);
    files().close(file);
  }
  void resize(const std::string& path, uint64_t bytes) {
    const int file = files().open(path, O_RDWR);
    EXPECT_EQ(files().resize(file, bytes), 0);
    files().close(file);
  }
  // Writes files that are there in every state.
  void write_durably(const std::string& path, std::string_view text) {
    write(path, text);
    sync(path);
    EXPECT_EQ(platform::sync_parent(path), 0);
  }

  // Returns the content of the file at `path` in a crash state.
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

using Texts = std::set<std::string>;

TEST_F(CrashStates, TheSyncOfANewFileDoesNotMakeItsNameDurable) {
  write("a", "text");
  sync("a");
  EXPECT_EQ(texts("a"), (Texts{kNone, "text"}));
  ASSERT_EQ(platform::sync_parent("a"), 0);
  EXPECT_EQ(texts("a"), Texts{"text"});
}

TEST_F(CrashStates, TheSyncOfANameDoesNotMakeItsFileDurable) {
  write("a", "text");
  ASSERT_EQ(platform::sync_parent("a"), 0);
  EXPECT_EQ(texts("a"), (Texts{"", "text", std::string(4, '\0')}));
  sync("a");
  EXPECT_EQ(texts("a"), Texts{"text"});
}

TEST_F(CrashStates, ARenameWithoutTheSyncOfItsDirectoryMayBeLost) {
  write_durably("a", "old");
  write_durably("b", "new");
  ASSERT_EQ(files().rename("b", "a"), 0);
  std::set<std::pair<std::string, std::string>> found;
  for (const CrashState& state : now()) found.emplace(text_in(state, "a"), text_in(state, "b"));
  // Both names change in one step.
  EXPECT_EQ(found, (decltype(found){{"old", "new"}, {"new", kNone}}));
  ASSERT_EQ(platform::sync_directory("/"), 0);
  EXPECT_EQ(texts("a"), Texts{"new"});
}

TEST_F(CrashStates, ARenameBeforeTheSyncOfItsFileMayShowHalfOfIt) {
  write_durably("a", "old");
  write("a.new", "new");
  ASSERT_EQ(files().rename("a.new", "a"), 0);
  EXPECT_EQ(texts("a"), (Texts{"old", "", "new", std::string(3, '\0')}));
}

TEST_F(CrashStates, ARemovalWithoutTheSyncOfItsDirectoryMayBeLost) {
  write_durably("a", "text");
  ASSERT_EQ(files().remove("a"), 0);
  EXPECT_EQ(texts("a"), (Texts{"text", kNone}));
  ASSERT_EQ(platform::sync_directory("."), 0);
  EXPECT_EQ(texts("a"), Texts{kNone});
}

TEST_F(CrashStates, UnsyncedSectorsPersistInAnySubset) {
  const std::string old(1536, 'o'), fresh(1024, 'n');
  write_durably("a", old);
  write("a", fresh, 256);  // it changes parts of three sectors
  Texts expected;
  for (int subset = 0; subset < 8; ++subset) {
    std::string text = old;
    const auto persists = [&](int sector, size_t begin, size_t end) {
      if ((subset >> sector & 1) != 0) text.replace(begin, end - begin, end - begin, 'n');
    };
    persists(0, 256, 512);
    persists(1, 512, 1024);
    persists(2, 1024, 1280);
    expected.insert(text);
  }
  EXPECT_EQ(texts("a"), expected);
}

TEST_F(CrashStates, TheLaterOfTwoWritesMayPersistWithoutTheEarlier) {
  write_durably("a", std::string(1024, 'o'));
  write("a", "1", 0);
  write("a", "2", 512);
  write("a", "3", 1);  // in the first one's sector, so it needs it
  std::set<std::string> found;
  for (const std::string& text : texts("a")) {
    found.insert({text[0], text[1], text[512]});
  }
  EXPECT_EQ(found, (Texts{"ooo", "1oo", "13o", "oo2", "1o2", "132"}));
}

TEST_F(CrashStates, ASyncedWriteIsDurableAndMayBeTornBefore) {
  write_durably("a", std::string(1024, 'o'));
  write("a", "later", 512);
  write("a", std::string(512, 'n'), 0, true);
  Texts starts;
  for (const std::string& text : texts("a")) starts.insert(text.substr(0, 2) + text[512]);
  EXPECT_EQ(starts, (Texts{"nno", "nnl"}));
  starts.clear();
  for (const CrashState& state : disk_.states_after(disk_.steps() - 1, kMost, 1)) {
    starts.insert(text_in(state, "a").substr(0, 2));
  }
  EXPECT_EQ(starts, (Texts{"oo", "nn"}));
}

TEST_F(CrashStates, ASyncedWriteMakesTheLengthDurableThatItNeeds) {
  write_durably("a", "12");
  write("a", "3456", 2, true);
  EXPECT_EQ(texts("a"), Texts{"123456"});
  resize("a", 1000);
  EXPECT_EQ(texts("a").size(), 2u);
  write("a", "x", 0, true);  // does not need it
  EXPECT_EQ(texts("a").size(), 2u);
}

TEST_F(CrashStates, ALengthMayPersistWithoutTheBytesAndTheBytesNeedTheLength) {
  write_durably("a", "12");
  write("a", std::string(1022, 'x'), 2);
  std::set<std::pair<size_t, std::string>> found;
  for (const std::string& text : texts("a")) {
    found.emplace(text.size(), std::string() + text[0] + (text.size() > 2 ? text[2] : '-') +
                                   (text.size() > 2 ? text[1023] : '-'));
  }
  const std::string z(1, '\0');
  EXPECT_EQ(found, (decltype(found){{2, "1--"},
                                    {1024, "1" + z + z},
                                    {1024, "1x" + z},
                                    {1024, "1" + z + "x"},
                                    {1024, "1xx"}}));
}

TEST_F(CrashStates, WhatACutHasRemovedComesBackOnlyWithoutTheCut) {
  write_durably("a", std::string(1024, 'o'));
  resize("a", 100);
  EXPECT_EQ(texts("a"), (Texts{std::string(1024, 'o'), std::string(100, 'o')}));
  resize("a", 600);
  const std::string longer = std::string(100, 'o') + std::string(500, '\0');
  EXPECT_EQ(texts("a"), (Texts{std::string(1024, 'o'), std::string(100, 'o'), longer}));
  write("a", "n", 550, true);  // makes the cut durable
  std::string written = longer;
  written[550] = 'n';
  EXPECT_EQ(texts("a"), Texts{written});
}

TEST_F(CrashStates, ATruncatedFileIsWhatItWasOrWhatItBecomes) {
  write_durably("a", "old text");
  const int file = files().open("a", O_WRONLY | O_TRUNC);
  ASSERT_EQ(platform::write_all(file, 0, bytes_of("new")), 0);
  EXPECT_EQ(texts("a"), (Texts{"old text", "", std::string(3, '\0'), "new"}));
  EXPECT_EQ(files().sync_data(file), 0);
  EXPECT_EQ(texts("a"), Texts{"new"});
  files().close(file);
}

TEST_F(CrashStates, DirectoriesPersistIndependently) {
  ASSERT_EQ(platform::make_directories("x", nullptr), 0);
  ASSERT_EQ(platform::make_directories("y", nullptr), 0);
  write("x/a", "");
  write("y/a", "");
  std::set<std::pair<std::string, std::string>> found;
  for (const CrashState& state : now()) found.emplace(text_in(state, "x/a"), text_in(state, "y/a"));
  EXPECT_EQ(found.size(), 4u);
  ASSERT_EQ(platform::sync_directory("x"), 0);
  EXPECT_EQ(texts("x/a"), Texts{""});
  EXPECT_EQ(texts("y/a"), (Texts{"", kNone}));
}

TEST_F(CrashStates, TheChangesOfOneNamePersistInTheirOrder) {
  write_durably("a", "1");
  write_durably("b", "2");
  ASSERT_EQ(files().remove("a"), 0);
  ASSERT_EQ(files().rename("b", "a"), 0);
  ASSERT_EQ(files().rename("a", "c"), 0);
  ASSERT_EQ(files().make_directory("d"), 0);  // independent
  std::set<std::vector<std::string>> found;
  for (const CrashState& state : now()) {
    found.insert({text_in(state, "a"), text_in(state, "b"), text_in(state, "c"),
                  state.directories.empty() ? "" : "d"});
  }
  std::set<std::vector<std::string>> expected;
  for (const char* d : {"", "d"}) {
    expected.insert({"1", "2", kNone, d});
    expected.insert({kNone, "2", kNone, d});
    expected.insert({"2", kNone, kNone, d});
    expected.insert({kNone, kNone, "2", d});
  }
  EXPECT_EQ(found, expected);
}

TEST_F(CrashStates, TheSyncOfOneDirectoryOfARenameMakesWhatItNeedsDurable) {
  ASSERT_EQ(platform::make_directories("x", nullptr), 0);
  ASSERT_EQ(platform::make_directories("y", nullptr), 0);
  write("x/a", "1");
  sync("x/a");
  write("x/other", "");
  ASSERT_EQ(files().rename("x/a", "y/a"), 0);
  EXPECT_EQ(texts("y/a"), (Texts{"1", kNone}));
  ASSERT_EQ(platform::sync_directory("y"), 0);
  EXPECT_EQ(texts("y/a"), Texts{"1"});
  EXPECT_EQ(texts("x/a"), Texts{kNone});
  EXPECT_EQ(texts("x/other"), (Texts{"", kNone}));
}

TEST_F(CrashStates, TheSyncOfANewDirectoryDoesNotMakeItsNameDurable) {
  ASSERT_EQ(files().make_directory("x"), 0);
  write("x/a", "1");
  sync("x/a");
  ASSERT_EQ(platform::sync_directory("x"), 0);
  EXPECT_EQ(texts("x/a"), (Texts{"1", kNone}));
  ASSERT_EQ(platform::sync_parent("x"), 0);
  EXPECT_EQ(texts("x/a"), Texts{"1"});
}

TEST_F(CrashStates, DirectoriesThatWereMadeStay) {
  ASSERT_EQ(platform::make_directories("x/y/z", nullptr), 0);
  for (const CrashState& state : now()) {
    EXPECT_EQ(state.directories, (std::set<std::string>{"x", "x/y", "x/y/z"}));
  }
  // At no step is there a directory that is not below the one before.
  for (size_t step = 0; step <= disk_.steps(); ++step) {
    for (const CrashState& state : disk_.states_after(step, kMost, 1)) {
      EXPECT_TRUE(!state.directories.contains("x/y/z") || state.directories.contains("x/y"));
    }
  }
}

// Replaces a file in the way that `replace` does, and returns the contents that it may have after a
// crash at any step; a * follows those that it may have when `replace` has returned.
Texts replaced_by(const std::function<void()>& replace) {
  MemoryFiles disk;
  const platform::ReplaceFiles in_place(disk);
  EXPECT_EQ(platform::replace_file("a", "old"), 0);
  const size_t before = disk.steps();
  replace();
  disk.mark(1);
  Texts found;
  for (size_t step = before; step <= disk.steps(); ++step) {
    for (const CrashState& state : disk.states_after(step, kMost, 1)) {
      MemoryFiles after(state);
      const platform::ReplaceFiles again(after);
      std::string text;
      if (platform::read_file("a", &text) != 0) text = kNone;
      found.insert(text + (state.marks.empty() ? "" : "*"));
    }
  }
  return found;
}

TEST(CrashStatesOfReplaceFile, TheFileIsTheOldOneOrTheNew) {
  EXPECT_EQ(replaced_by([] { EXPECT_EQ(platform::replace_file("a", "new"), 0); }),
            (Texts{"old", "new", "new*"}));
}

// The same with the mistakes that replace_file() could make.
TEST(CrashStatesOfReplaceFile, EachStepThatIsLeftOutIsSeen) {
  const auto replace = [](bool syncs_file, bool syncs_directory) {
    const int file = files().open("a.new", O_WRONLY | O_CREAT | O_TRUNC);
    EXPECT_EQ(platform::write_all(file, 0, bytes_of("new")), 0);
    if (syncs_file) {
      EXPECT_EQ(files().sync(file), 0);
    }
    files().close(file);
    EXPECT_EQ(files().rename("a.new", "a"), 0);
    if (syncs_directory) {
      EXPECT_EQ(platform::sync_parent("a"), 0);
    }
  };
  const auto found = [&](bool syncs_file, bool syncs_directory) {
    return replaced_by([&] { replace(syncs_file, syncs_directory); });
  };
  EXPECT_EQ(found(true, true), (Texts{"old", "new", "new*"}));
  EXPECT_TRUE(found(true, false).contains("old*"));
  EXPECT_TRUE(found(false, true).contains("*"));
}

TEST_F(CrashStates, ManyChoicesAreDrawnBySeed) {
  write_durably("a", std::string(20 * 512, 'o'));
  for (int i = 0; i < 20; ++i) write("a", std::string(512, 'n'), 512 * static_cast<uint64_t>(i));
  const auto drawn = [&](uint64_t seed) {
    std::vector<std::string> texts;
    for (const CrashState& state : disk_.states_after(disk_.steps(), kMost, seed)) {
      texts.push_back(text_in(state, "a"));
    }
    return texts;
  };
  const auto one = drawn(1);
  EXPECT_EQ(one.size(), kMost);
  EXPECT_EQ(one, drawn(1));
  EXPECT_NE(one, drawn(2));
  for (const auto& texts : {one, drawn(2)}) {
    EXPECT_NE(std::ranges::find(texts, std::string(20 * 512, 'o')), texts.end());
    EXPECT_NE(std::ranges::find(texts, std::string(20 * 512, 'n')), texts.end());
    EXPECT_GT(std::set(texts.begin(), texts.end()).size(), kMost / 2);
  }
}

TEST_F(CrashStates, FewChoicesAreAllThere) {
  write_durably("a", std::string(6 * 512, 'o'));
  write("a", std::string(6 * 512, 'n'));
  EXPECT_EQ(now(64).size(), 64u);
  EXPECT_EQ(texts("a", 64).size(), 64u);
  EXPECT_EQ(now(63).size(), 63u);
  EXPECT_EQ(now(1000).size(), 64u);
  sync("a");
  EXPECT_EQ(now().size(), 1u);
}

TEST_F(CrashStates, AMarkIsOnlyInTheStatesAfterIt) {
  write("a", "1");
  const size_t before = disk_.steps();
  disk_.mark(7);
  for (const CrashState& state : disk_.states_after(before, kMost, 1)) {
    EXPECT_TRUE(state.marks.empty());
  }
  for (const CrashState& state : now()) EXPECT_EQ(state.marks, std::vector<uint64_t>{7});
  EXPECT_EQ(disk_.now().marks, std::vector<uint64_t>{7});
}

TEST_F(CrashStates, ACrashMayFollowACrash) {
  write_durably("d", "");
  ASSERT_EQ(platform::make_directories("x/y", nullptr), 0);
  write_durably("x/y/a", std::string(700, '1'));
  MemoryFiles second(disk_.now());
  {
    const platform::ReplaceFiles replace(second);
    write("x/y/a", std::string(700, '2'));
    sync("x/y/a");
    ASSERT_EQ(files().rename("x/y/a", "x/b"), 0);
  }
  const auto states = second.states_after(second.steps(), kMost, 1);
  EXPECT_EQ(states.size(), 2u);
  for (const CrashState& state : states) {
    EXPECT_EQ(text_in(state, state.files.contains("x/b") ? "x/b" : "x/y/a"), std::string(700, '2'));
  }
  EXPECT_EQ(second.states_after(0, kMost, 1).size(), 1u);
  EXPECT_EQ(text_in(second.states_after(0, kMost, 1)[0], "x/y/a"), std::string(700, '1'));
}

TEST_F(CrashStates, AKillLosesNothing) {
  write("a", "1");
  ASSERT_EQ(files().make_directory("x"), 0);
  write("x/b", "2");
  EXPECT_EQ(text_in(disk_.now(), "a"), "1");
  EXPECT_EQ(text_in(disk_.now(), "x/b"), "2");
}

// A file of many sectors, of which a crash state and the files made from it share most.
TEST_F(CrashStates, LargeFilesAreKept) {
  std::string text(uint64_t{1} << 20, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i / 512 % 251);
  write_durably("a", text);
  write("a", "changed", 300'000);
  std::string changed = text;
  changed.replace(300'000, 7, "changed");
  EXPECT_EQ(texts("a"), (Texts{text, changed}));
  resize("a", 400'000);
  sync("a");
  EXPECT_EQ(texts("a"), Texts{changed.substr(0, 400'000)});
}

TEST_F(CrashStates, AFullDiskTakesWhatFits) {
  disk_.limit(4096);
  const int file = files().open("a", O_RDWR | O_CREAT);
  const std::string text(8192, 'x');
  EXPECT_EQ(files().write(file, 0, bytes_of(text), false), 4096);
  EXPECT_EQ(files().write(file, 4096, bytes_of(text), false), -ENOSPC);
  EXPECT_EQ(platform::write_all(file, 0, bytes_of(text)), ENOSPC);
  EXPECT_EQ(files().resize(file, 8192), ENOSPC);
  EXPECT_EQ(files().write(file, 0, bytes_of(text), false), 4096);  // in place
  EXPECT_EQ(files().punch(file, 0, 1024), 0);
  const int other = files().open("b", O_RDWR | O_CREAT);
  EXPECT_EQ(files().write(other, 0, bytes_of(text), false), 1024);
  EXPECT_EQ(files().write(file, 0, bytes_of("y"), false), -ENOSPC);
  ASSERT_EQ(files().remove("b"), 0);
  EXPECT_EQ(files().write(file, 0, bytes_of("y"), false), -ENOSPC);  // b is still open
  files().close(other);
  EXPECT_EQ(files().write(file, 0, bytes_of("y"), false), 1);
  files().close(file);
}

TEST_F(CrashStates, CallsFailWhereATestWantsIt) {
  ASSERT_EQ(files().make_directory("log"), 0);
  disk_.fail("log/a", FileCall::kWrite, EIO, 1);
  disk_.fail("log", FileCall::kList, EACCES);
  disk_.fail("log/b", FileCall::kOpen, EMFILE);
  disk_.fail("log/a", FileCall::kSync, EIO);
  const int file = files().open("log/a", O_RDWR | O_CREAT);
  EXPECT_EQ(files().write(file, 0, bytes_of("1"), false), 1);
  EXPECT_EQ(files().write(file, 0, bytes_of("2"), false), -EIO);
  EXPECT_EQ(files().sync(file), EIO);
  std::vector<std::string> names;
  EXPECT_EQ(files().list("log", &names), EACCES);
  EXPECT_EQ(files().open("log/b", O_RDWR | O_CREAT), -EMFILE);
  disk_.mend();
  EXPECT_EQ(files().sync(file), 0);
  EXPECT_EQ(texts("log/a"), (Texts{"1", kNone}));
  files().close(file);
}

TEST_F(CrashStates, ThreadsWriteAtTheSameTime) {
  constexpr int kThreads = 4, kWrites = 50;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const std::string path = "stream-" + std::to_string(t % 2);
      const int file = files().open(path, O_RDWR | O_CREAT);
      for (int i = 0; i < kWrites; ++i) {
        const uint64_t at = static_cast<uint64_t>(i * kThreads + t) * 512;
        EXPECT_EQ(platform::write_all(file, at, bytes_of("x"), true), 0);
        disk_.mark(at);
      }
      files().close(file);
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(platform::sync_directory("/"), 0);
  for (size_t step = 0; step <= disk_.steps(); step += 37) {
    for (const CrashState& state : disk_.states_after(step, 8, 1)) {
      for (const uint64_t at : state.marks) {
        const auto file = state.files.find("stream-" + std::to_string(at / 512 % kThreads % 2));
        if (file == state.files.end()) continue;  // its name is not durable before the end
        EXPECT_NE(file->second.sector(at / 512), nullptr) << state.what;
      }
    }
  }
  EXPECT_EQ(disk_.now().marks.size(), size_t{kThreads * kWrites});
}

}  // namespace
}  // namespace logjam
