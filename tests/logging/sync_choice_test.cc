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

// Lets syncs by one method take longer, or not work at all. Counts the writes.
class SlowSyncs final : public WrappedFiles {
 public:
  int64_t write(int file, uint64_t offset, std::span<const std::byte> bytes, bool synced) override {
    ++writes;
    if (synced && slow_dsync) std::this_thread::sleep_for(kDelay);
    return WrappedFiles::write(file, offset, bytes, synced);
  }
  int sync_data(int file) override {
    if (slow_fdatasync) std::this_thread::sleep_for(kDelay);
    return WrappedFiles::sync_data(file);
  }
  int synced_write_error() override { return no_dsync; }

  std::atomic<uint64_t> writes{0};
  bool slow_dsync = false, slow_fdatasync = false;
  int no_dsync = 0;

 private:
  static constexpr std::chrono::milliseconds kDelay{3};
};

class SyncChoiceTest : public testing::Test {
 protected:
  SyncMethod choose(const std::string& device = "sync") {
    const SyncChoice choice(device, directory_.path());
    choice.remember();
    return choice.method();
  }
  std::string remembered() const { return text_of(directory_.path_of("sync-method")); }

  const LogDirectory directory_;
  SlowSyncs disk_;
  const platform::ReplaceFiles replace_{disk_};
};

TEST_F(SyncChoiceTest, TheFasterMethodIsChosenAndRememberedForEachDevice) {
  disk_.slow_dsync = true;
  EXPECT_EQ(choose("faulty:sync"), SyncMethod::kFdatasync);
  EXPECT_EQ(remembered(), "sync fdatasync\n");
  disk_.slow_dsync = false;
  disk_.slow_fdatasync = true;
  const uint64_t writes = disk_.writes;
  EXPECT_EQ(choose(), SyncMethod::kFdatasync) << "what the directory remembers";
  EXPECT_EQ(disk_.writes, writes);
  EXPECT_EQ(remembered(), "sync fdatasync\n");
  fs::remove(directory_.path_of("sync-method"));
  EXPECT_EQ(choose(), SyncMethod::kDsync);
  const SyncMethod of_file = choose("file");
  EXPECT_EQ(remembered(), "sync dsync\nfile " + std::string(name_of(of_file)) + "\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_.path()), {}), 1)
      << "the measurement leaves no file";
}

// Whatever the file "sync-method" contains or is, a run chooses no unsafe method and changes no
// other file.
TEST_F(SyncChoiceTest, WhatIsNotOfLogjamIsMeasuredAnew) {
  const std::string path = directory_.path_of("sync-method"), other = directory_.path_of("other");
  disk_.slow_dsync = true;
  const std::string hostile[] = {
      "sync none\n",          "sync fsync\n",          "sync\n",
      "sync dsync \n",        "sync dsync dsync\n",    "null dsync\n",
      "sync auto\n",          "tape dsync\n",          "\n",
      "sync:1 dsync\n",       "file dsync\nsync",      "faulty:sync dsync\n",
      std::string(5000, 'x'), std::string("sync\0", 5)};
  for (const std::string& text : hostile) {
    SCOPED_TRACE(text.substr(0, 40));
    std::ofstream(path) << text;
    EXPECT_EQ(choose(), SyncMethod::kFdatasync);
    EXPECT_EQ(remembered(), "sync fdatasync\n");
  }
  const platform::HeldDirectory held(directory_.path());  // as a log's directory is
  for (const std::string plant : {"link", "name", "fifo"}) {
    SCOPED_TRACE(plant);
    fs::remove(path);
    std::ofstream(other) << "sync dsync\n";
    if (plant == "link") fs::create_symlink(other, path);
    if (plant == "name") fs::create_hard_link(other, path);
    if (plant == "fifo") mkfifo(path.c_str(), 0600);
    const bool reads = plant == "name";
    EXPECT_EQ(choose(), reads ? SyncMethod::kDsync : SyncMethod::kFdatasync);
    EXPECT_EQ(remembered(), reads ? "sync dsync\n" : "sync fdatasync\n");
    EXPECT_EQ(text_of(other), "sync dsync\n");
  }
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_EQ(choose(), SyncMethod::kFdatasync);
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
  std::ofstream(directory_.path_of("a/sync-method")) << "sync dsync\n";
  disk_.slow_dsync = true;
  const Log log(options);
  EXPECT_EQ(log.sync_text(), "dsync fdatasync");
  EXPECT_EQ(text_of(directory_.path_of("b/sync-method")), "sync fdatasync\n");
}

}  // namespace
}  // namespace logjam
