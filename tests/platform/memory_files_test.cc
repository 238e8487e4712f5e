// proof/disk/memory_files.h: the calls of the file system in memory that tests use.
#include "proof/disk/memory_files.h"

#include <algorithm>
#include <thread>

#include "tests/platform/on_memory_files.h"

namespace logjam {
namespace {

using platform::files;

class MemoryFilesTest : public OnMemoryFiles {};

TEST_F(MemoryFilesTest, ManyChoicesAreDrawnBySeed) {
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

TEST_F(MemoryFilesTest, FewChoicesAreAllThere) {
  write_durably("a", std::string(6 * 512, 'o'));
  write("a", std::string(6 * 512, 'n'));
  EXPECT_EQ(now(64).size(), 64u);
  EXPECT_EQ(texts("a", 64).size(), 64u);
  EXPECT_EQ(now(63).size(), 63u);
  EXPECT_EQ(now(1000).size(), 64u);
  sync("a");
  EXPECT_EQ(now().size(), 1u);
}

TEST_F(MemoryFilesTest, AMarkIsOnlyInTheStatesAfterIt) {
  write("a", "1");
  const size_t before = disk_.steps();
  disk_.mark(7);
  for (const CrashState& state : disk_.states_after(before, kMost, 1)) {
    EXPECT_TRUE(state.marks.empty());
  }
  for (const CrashState& state : now()) EXPECT_EQ(state.marks, std::vector<uint64_t>{7});
  EXPECT_EQ(disk_.now().marks, std::vector<uint64_t>{7});
}

TEST_F(MemoryFilesTest, ACrashMayFollowACrash) {
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

TEST_F(MemoryFilesTest, AKillLosesNothing) {
  write("a", "1");
  ASSERT_EQ(files().make_directory("x"), 0);
  write("x/b", "2");
  EXPECT_EQ(text_in(disk_.now(), "a"), "1");
  EXPECT_EQ(text_in(disk_.now(), "x/b"), "2");
}

TEST_F(MemoryFilesTest, LargeFilesAreKept) {
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
  resize("a", text.size());
  sync("a");
  changed.replace(400'000, text.size(), text.size() - 400'000, '\0');
  EXPECT_EQ(texts("a"), Texts{changed});
}

TEST_F(MemoryFilesTest, AllocatedBytesHaveRoomAlsoWhereThereWereHoles) {
  disk_.limit(4096);
  const int file = files().open("a", O_RDWR | O_CREAT), other = files().open("b", O_RDWR | O_CREAT);
  EXPECT_EQ(files().write(file, 0, bytes_of(std::string(3072, 'x')), false), 3072);
  EXPECT_EQ(files().allocate(file, 8192), ENOSPC);
  EXPECT_EQ(files().allocate(file, 3584), 0);
  uint64_t bytes = 0;
  EXPECT_EQ(files().size(file, &bytes), 0);
  EXPECT_EQ(bytes, 3584u);
  EXPECT_EQ(files().punch(file, 0, 1024), 0);
  EXPECT_EQ(files().allocate(file, 600), 0);  // two sectors
  EXPECT_EQ(files().write(other, 0, bytes_of(std::string(4096, 'y')), false), 512);
  EXPECT_EQ(files().punch(file, 0, 1024), 0);
  EXPECT_EQ(files().write(other, 512, bytes_of(std::string(512, 'y')), false), 512);
  EXPECT_EQ(files().allocate(file, 1024), ENOSPC);
  files().close(file);
  files().close(other);
}

TEST_F(MemoryFilesTest, AFullDiskTakesWhatFits) {
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
  for (int again = 0; again < 10; ++again) {
    EXPECT_EQ(files().write(file, 0, bytes_of("y"), false), 1);
  }
  files().close(file);
}

TEST_F(MemoryFilesTest, CallsFailWhereATestWantsIt) {
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

TEST_F(MemoryFilesTest, ThreadsWriteAtTheSameTime) {
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
        if (file == state.files.end()) continue;  // names are durable only after the last step
        EXPECT_NE(file->second.sector(at / 512), nullptr) << state.what;
      }
    }
  }
  EXPECT_EQ(disk_.now().marks.size(), size_t{kThreads * kWrites});
}

}  // namespace
}  // namespace logjam
