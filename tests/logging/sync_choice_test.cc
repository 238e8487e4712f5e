// The sync method that a log chooses for a directory, and what the directory remembers.
#include "logging/device/sync_choice.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "logging/device/device_registry.h"
#include "tests/command_error.h"
#include "tests/logging/log_fixture.h"
#include "tests/wrapped_files.h"

namespace logjam {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Counts the writes. Can lack synced writes.
class CountedWrites final : public WrappedFiles {
 public:
  int64_t write(int file, uint64_t offset, std::span<const std::byte> bytes, bool synced) override {
    ++writes;
    return WrappedFiles::write(file, offset, bytes, synced);
  }
  int synced_write_error() override { return no_dsync; }

  std::atomic<uint64_t> writes{0};
  int no_dsync = 0;
};

class SyncChoiceTest : public testing::Test {
 protected:
  SyncMethod choose(const std::string& device = "sync") {
    const SyncChoice choice(device, directory_.path());
    choice.remember();
    return choice.method();
  }
  // Chooses, and expects that the method was measured or not, and what the directory remembers.
  void expect(bool measured, const std::string& device = "sync", const std::string& others = "") {
    const uint64_t before = disk_.writes;
    const SyncMethod method = choose(device);
    EXPECT_EQ(disk_.writes > before + 1, measured);  // one write is that of the file
    EXPECT_TRUE(method == SyncMethod::kDsync || method == SyncMethod::kFdatasync);
    EXPECT_EQ(remembered(),
              others + std::string(unwrapped(device)) + " " + std::string(name_of(method)) + "\n");
  }
  std::string remembered() const { return text_of(directory_.path_of("sync-method")); }

  LogDirectory directory_;
  CountedWrites disk_;
  const platform::ReplaceFiles replace_{disk_};
};

TEST(SyncContest, TheMethodThatIsFasterMoreOftenWinsAndAClearLeadEndsTheContest) {
  for (const bool dsync_wins : {true, false}) {
    SyncContest contest;
    const auto add = [&](bool fast_wins) {
      const bool dsync = fast_wins == dsync_wins;
      contest.add_round(dsync ? 10 : 11, dsync ? 11 : 10);
    };
    for (int i = 0; i < 15; ++i) add(true);
    EXPECT_FALSE(contest.is_clear());
    add(false);
    contest.add_round(10, 10);
    add(true);
    EXPECT_FALSE(contest.is_clear());
    add(true);
    EXPECT_TRUE(contest.is_clear());
    EXPECT_EQ(contest.rounds(), 19);
    EXPECT_EQ(contest.faster(), dsync_wins ? SyncMethod::kDsync : SyncMethod::kFdatasync);
  }
  EXPECT_EQ(SyncContest().faster(), SyncMethod::kDsync) << "one system call less";
}

TEST_F(SyncChoiceTest, AMethodIsMeasuredOnceForEachDevice) {
  expect(true, "faulty:sync");
  const std::string first = remembered();
  expect(false);
  expect(true, "file", first);
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_.path()), {}), 1)
      << "the measurement leaves no file";
}

// Whatever the file "sync-method" contains or is, a run chooses no unsafe method and changes no
// other file.
TEST_F(SyncChoiceTest, WhatIsNotOfLogjamIsMeasuredAnew) {
  const std::string path = directory_.path_of("sync-method"), other = directory_.path_of("other");
  const std::string hostile[] = {
      "sync none\n",          "sync fsync\n",          "sync\n",
      "sync dsync \n",        "sync dsync dsync\n",    "null dsync\n",
      "sync auto\n",          "tape dsync\n",          "\n",
      "sync:1 dsync\n",       "file dsync\nsync",      "faulty:sync dsync\n",
      std::string(5000, 'x'), std::string("sync\0", 5)};
  for (const std::string& text : hostile) {
    SCOPED_TRACE(text.substr(0, 40));
    std::ofstream(path) << text;
    expect(true);
  }
  const platform::HeldDirectory held(directory_.path());  // as a log's directory is
  for (const std::string plant : {"link", "name", "fifo"}) {
    SCOPED_TRACE(plant);
    fs::remove(path);
    std::ofstream(other) << "sync dsync\n";
    if (plant == "link") fs::create_symlink(other, path);
    if (plant == "name") fs::create_hard_link(other, path);
    if (plant == "fifo") mkfifo(path.c_str(), 0600);
    expect(plant != "name");  // a file with another name is only read
    EXPECT_EQ(text_of(other), "sync dsync\n");
  }
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_NE(choose(), SyncMethod::kNone);
  EXPECT_TRUE(fs::is_directory(path));
}

TEST_F(SyncChoiceTest, WithoutSyncedWritesItIsFdatasyncAndNothingIsWritten) {
  for (const int error : {ENOSYS, EOPNOTSUPP}) {
    disk_.no_dsync = error;
    EXPECT_EQ(choose(), SyncMethod::kFdatasync);
    EXPECT_EQ(disk_.writes, 0u);
    for (const char* device : {"file", "sync"}) {
      EXPECT_REFUSED(
          open_device(device, {.path = directory_.file()}),
          "--sync=dsync needs pwritev2\\(\\) with RWF_DSYNC, which this machine does not "
          "have \\(.*\\); use --sync=fdatasync");
      open_device(device, {.path = directory_.file(), .sync_method = SyncMethod::kFdatasync});
    }
  }
}

// A log that is refused leaves no trace. A log that begins remembers the method of each directory.
TEST_F(SyncChoiceTest, ALogRemembersItsChoicesWhenItBegins) {
  LogOptions options = log_options(*find_scheme("centr"), directory_, "sync", 1);
  options.sync = std::nullopt;
  options.directories = {directory_.path_of("a"), directory_.path_of("b")};
  options.record_bytes = uint64_t{1} << 40;
  EXPECT_REFUSED(const Log log(options), "exceed");
  EXPECT_TRUE(fs::is_empty(directory_.path()));
  options.record_bytes = 0;
  fs::create_directory(directory_.path_of("a"));
  std::ofstream(directory_.path_of("a/sync-method")) << "sync fdatasync\n";
  const Log log(options);
  const std::string of_b = text_of(directory_.path_of("b/sync-method"));
  EXPECT_TRUE(of_b == "sync dsync\n" || of_b == "sync fdatasync\n") << of_b;
  EXPECT_EQ(log.sync_text(), of_b == "sync dsync\n" ? "fdatasync dsync" : "fdatasync");
}

}  // namespace
}  // namespace logjam
