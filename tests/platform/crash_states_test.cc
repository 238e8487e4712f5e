// proof/disk/crash_states.h: the states that a crash may leave, and the states that it must not
// leave.
#include <functional>

#include "tests/platform/on_memory_files.h"

namespace logjam {
namespace {

using platform::files;

class CrashStates : public OnMemoryFiles {};

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
  // A rename removes the old name and creates the new name in one step.
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
  write("a", fresh, 256);  // changes parts of three sectors
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
  write("a", "3", 1);  // changes the first write's sector, so it cannot persist alone
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
  write("a", std::string(1024, 'x'), 0, true);
  EXPECT_EQ(texts("a"), Texts{std::string(1024, 'x')});
}

TEST_F(CrashStates, ASyncedWriteMakesTheLengthDurableThatItNeeds) {
  write_durably("a", "12");
  write("a", "3456", 2, true);
  EXPECT_EQ(texts("a"), Texts{"123456"});
  resize("a", 1000);
  EXPECT_EQ(texts("a").size(), 2u);
  write("a", "x", 0, true);  // can be durable without the new length of the file
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
  write("a", "n", 550, true);  // makes the truncation durable
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
  ASSERT_EQ(files().make_directory("d"), 0);  // independent of the other steps
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
  // At every step each directory that exists has its parent directory.
  for (size_t step = 0; step <= disk_.steps(); ++step) {
    for (const CrashState& state : disk_.states_after(step, kMost, 1)) {
      EXPECT_TRUE(!state.directories.contains("x/y/z") || state.directories.contains("x/y"));
    }
  }
}

// Replaces a file with `replace`. Returns the contents that the file may have after a crash at any
// step. If a crash after the return of `replace` may leave a content, this content ends with * in
// the result.
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

// If any one step of replace_file() is left out, some crash must leave a wrong state.
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

}  // namespace
}  // namespace logjam
