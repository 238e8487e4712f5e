// The files of a device on a disk that loses power at any step, fills up, or cannot be read.
#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "logging/device/device_file.h"
#include "logging/device/device_registry.h"
#include "logging/format/log_reader.h"
#include "logging/format/segments.h"
#include "platform/files.h"
#include "platform/memory.h"
#include "proof/disk/memory_files.h"
#include "tests/command_error.h"
#include "tests/logging/log_fixture.h"
#include "tests/scoped_flags.h"

namespace logjam {
namespace {

using platform::files;

constexpr uint64_t kSegment = uint64_t{128} << 10, kPiece = kSegment / 8;
constexpr const char* kPath = "log/stream-0.log.db";

// Returns the bytes that the log must have from `offset` on.
std::vector<std::byte> bytes_at(uint64_t offset, uint64_t bytes) {
  std::vector<std::byte> piece(bytes);
  for (uint64_t i = 0; i < bytes; ++i) piece[i] = std::byte(1 + (offset + i) / 512 % 251);
  return piece;
}
std::vector<std::byte> piece_at(uint64_t offset) { return bytes_at(offset, kPiece); }

std::unique_ptr<Device> open_sync_device(SyncMethod method = SyncMethod::kDsync) {
  return open_device("sync", {.path = kPath,
                              .preallocate_bytes = 2 * kSegment,
                              .segment_bytes = kSegment,
                              .sync_method = method});
}

// Writes the bytes [begin, end) of the log in pieces. Marks each piece's end as acknowledged.
void write_log(MemoryFiles& disk, Device& device, uint64_t begin, uint64_t end) {
  for (uint64_t at = begin; at < end; at += kPiece) {
    device.write_through(at, piece_at(at));
    disk.mark(at + kPiece);
  }
}

// Writes the bytes [begin, end) of the log with several writes under way. Some of these writes lie
// in two segment files. Marks the end of the longest prefix of finished writes as acknowledged.
void write_log_at_depth(MemoryFiles& disk, Device& device, uint64_t begin, uint64_t end) {
  constexpr uint64_t kPieceHere = kPiece + 4096;
  struct Write {
    std::unique_ptr<platform::MirroredMemory> memory;
    uint64_t end = 0;
    bool finished = true;
  };
  std::vector<Write> slots(device.depth());
  uint64_t next = begin, acknowledged = begin;
  while (acknowledged < end) {
    for (uint32_t slot = 0; slot < slots.size(); ++slot) {
      Write& write = slots[slot];
      if (write.end <= acknowledged && next < end) {
        const std::vector<std::byte> bytes = bytes_at(next, kPieceHere);
        write.memory = std::make_unique<platform::MirroredMemory>(kPieceHere);
        std::memcpy(write.memory->data(), bytes.data(), kPieceHere);
        write.end = next + kPieceHere;
        write.finished = false;
        device.start(next, {write.memory->data(), kPieceHere}, Sync::kData, slot);
        next = write.end;
      }
      write.finished = write.finished || device.finished(slot);
    }
    const uint64_t before = acknowledged;
    for (bool more = true; more;) {
      more = false;
      for (const Write& write : slots) {
        if (!write.finished || write.end != acknowledged + kPieceHere) continue;
        acknowledged = write.end;
        more = true;
      }
    }
    if (acknowledged != before) {
      disk.mark(acknowledged);
    } else {
      device.wait(1'000'000);
    }
  }
}

// Expects the log to have all bytes from the last release to the last acknowledgement. The disk has
// marks of both positions. A release's mark is the complement of its offset.
void expect_log(const CrashState& state) {
  SCOPED_TRACE(state.what);
  uint64_t acknowledged = 0, released = 0;
  for (const uint64_t mark : state.marks) {
    (mark >> 63 == 0 ? acknowledged : released) = mark >> 63 == 0 ? mark : ~mark;
  }
  if (acknowledged == 0) return;
  MemoryFiles after(state);
  const platform::ReplaceFiles replace(after);
  SegmentedFile file(kPath, Segments{kSegment}, released);
  ASSERT_EQ(file.error(), "");
  EXPECT_EQ(file.why_lost(), "");
  for (uint64_t at = released / kPiece * kPiece; at < acknowledged; at += kPiece) {
    const uint64_t bytes = std::min(kPiece, acknowledged - at);
    std::vector<std::byte> found(bytes);
    ASSERT_EQ(file.read(found.data(), at, bytes), bytes) << at;
    ASSERT_EQ(found, bytes_at(at, bytes)) << at;
  }
}

// Calls expect_log() for each state that a crash may leave. Returns the number of these states.
size_t expect_log_at_each_step(const MemoryFiles& disk) {
  size_t states = 0;
  for (size_t step = 0; step <= disk.steps() && !testing::Test::HasFailure(); ++step) {
    for (const CrashState& state : disk.states_after(step, 8, 1)) {
      expect_log(state);
      ++states;
    }
  }
  return states;
}

TEST(DeviceFiles, AfterACutAtAnyStepTheLogHasWhatWasAcknowledged) {
  for (const SyncMethod method : {SyncMethod::kDsync, SyncMethod::kFdatasync}) {
    SCOPED_TRACE(name_of(method));
    MemoryFiles disk;
    const platform::ReplaceFiles replace(disk);
    ASSERT_EQ(platform::make_directories("log", nullptr), 0);
    write_log(disk, *open_sync_device(method), 0, 3 * kSegment);
    EXPECT_GT(expect_log_at_each_step(disk), 200u);
  }
}

// Without io_uring the device `file` writes in threads, which a disk in memory can record.
TEST(DeviceFiles, AfterACutAtAnyStepWritesUnderWayAtOnceKeepWhatWasAcknowledged) {
  ScopedFlags flags;
  flags.set("test", std::string("no_io_uring:1"));
  for (const SyncMethod method : {SyncMethod::kDsync, SyncMethod::kFdatasync}) {
    SCOPED_TRACE(name_of(method));
    MemoryFiles disk;
    const platform::ReplaceFiles replace(disk);
    ASSERT_EQ(platform::make_directories("log", nullptr), 0);
    write_log_at_depth(disk,
                       *open_device("file", {.path = kPath,
                                             .preallocate_bytes = 2 * kSegment,
                                             .depth = 4,
                                             .segment_bytes = kSegment,
                                             .sync_method = method}),
                       0, 3 * kSegment);
    EXPECT_GT(expect_log_at_each_step(disk), 100u);
  }
}

// Shows that the tests above would notice a sync that is left out.
TEST(DeviceFiles, WithoutASyncACutLosesWhatWasAcknowledged) {
  MemoryFiles disk;
  const platform::ReplaceFiles replace(disk);
  ASSERT_EQ(platform::make_directories("log", nullptr), 0);
  const auto device = open_sync_device(SyncMethod::kNone);
  write_log(disk, *device, 0, kSegment);
  bool lost = false;
  for (const CrashState& state : disk.states_after(disk.steps(), 8, 1)) {
    const FileImage& image = state.files.at(kPath);
    lost |= image.sector(0) == nullptr;
  }
  EXPECT_TRUE(lost);
}

// A log directory on a disk in memory, and its SegmentMaker, which the test calls.
class SegmentFiles : public testing::Test {
 protected:
  MemoryFiles disk_;
  const platform::ReplaceFiles replace_{disk_};
  const int made_ = platform::make_directories("log", nullptr);
  FreeSegments free_{kPath};
  SegmentMaker maker_{kPath, Segments{kSegment}, 0, free_};
};

TEST_F(SegmentFiles, AfterACutAtAnyStepAReleasedSegmentIsNotTakenForAnother) {
  ASSERT_EQ(made_, 0);
  for (uint64_t index = 0; index < 7; ++index) {
    while (maker_.ready() <= index * kSegment) ASSERT_EQ(maker_.go_on(kSegment / 2), 0);
    const int file = files().open(segment_path(kPath, index), O_RDWR);
    ASSERT_GE(file, 0);
    for (uint64_t at = 0; at < kSegment; at += kPiece) {
      const uint64_t in_log = index * kSegment + at;
      ASSERT_EQ(platform::write_all(file, at, piece_at(in_log), true), 0);
      disk_.mark(in_log + kPiece);
    }
    files().close(file);
    if (index < 2) continue;
    disk_.mark(~((index - 1) * kSegment));
    ASSERT_EQ(free_.release(index - 1, 2), 0);
  }
  EXPECT_GT(expect_log_at_each_step(disk_), 300u);
  size_t renamed = 0;
  for (size_t i = 0; i < disk_.steps(); ++i) renamed += disk_.step(i).starts_with("rename") ? 1 : 0;
  EXPECT_GT(renamed, 1u);
}

// The second process starts from the files that the crash of the first process has left.
TEST(DeviceFiles, ACrashOfTheNextProcessLosesNothingEither) {
  MemoryFiles first;
  {
    const platform::ReplaceFiles replace(first);
    ASSERT_EQ(platform::make_directories("log", nullptr), 0);
    write_log(first, *open_sync_device(), 0, 2 * kSegment);
  }
  size_t states = 0;
  for (size_t step = 0; step <= first.steps(); step += 3) {
    for (const CrashState& state : first.states_after(step, 4, step)) {
      MemoryFiles second(state);
      const platform::ReplaceFiles replace(second);
      ASSERT_EQ(platform::make_directories("log", nullptr), 0);
      write_log(second, *open_sync_device(), 0, 2 * kSegment);
      for (size_t last : {second.steps() / 2, second.steps()}) {
        for (const CrashState& again : second.states_after(last, 4, step)) {
          expect_log(again);
          ++states;
        }
      }
    }
  }
  EXPECT_GT(states, 50u);
}

TEST_F(SegmentFiles, OneWhoseNameCannotBeSyncedIsNotReady) {
  ASSERT_EQ(made_, 0);
  disk_.fail("log", FileCall::kSync, EIO, 1);  // 1: after the sync of the file
  int error = 0;
  while (error == 0 && maker_.ready() == 0) error = maker_.go_on(kSegment);
  EXPECT_EQ(error, EIO);
  EXPECT_EQ(maker_.ready(), 0u);
}

// A run starts only after its preallocated files are on the disk, so later writes find space.
TEST(DeviceFilesDeathTest, APreallocationThatCannotBeSyncedIsRefused) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const uint64_t segment_bytes : {uint64_t{0}, kSegment}) {
    EXPECT_REFUSED(
        MemoryFiles disk; const platform::ReplaceFiles replace(disk);
        platform::make_directories("log", nullptr); disk.fail(kPath, FileCall::kSync, EIO);
        open_device(
            "sync",
            {.path = kPath, .preallocate_bytes = 2 * kSegment, .segment_bytes = segment_bytes}),
        "cannot preallocate 0 MiB for the log file .*: Input/output");
  }
}

TEST(DeviceFilesDeathTest, AFullDiskEndsTheProcessWithTheSegmentsName) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        MemoryFiles disk;
        const platform::ReplaceFiles replace(disk);
        platform::make_directories("log", nullptr);
        const auto device = open_sync_device();
        disk.limit(5 * kSegment);
        write_log(disk, *device, 0, 100 * kSegment);
      },
      testing::ExitedWithCode(3), "cannot grow the log file log/stream-0.log.db.[0-9]+: No space");
}

// A log whose run has written only the headers.
class UnreadableLog : public testing::Test {
 protected:
  UnreadableLog() {
    for (const char* directory : {"a", "b"}) {
      EXPECT_EQ(platform::make_directories(directory, nullptr), 0);
    }
    header_.scheme = "pwal";
    header_.streams = 2;
    header_.run = 7;
    header_.segment_bytes = kLogHeaderBytes;
    Manifest manifest;
    manifest.log = 5;
    manifest.directories = 2;
    manifest.last_ordinal = 1;
    ManifestRun& run = manifest.runs.emplace_back();
    run.header = header_;
    run.begun = true;
    LogManifest log({"a", "b"}, manifest);
    EXPECT_EQ(log.prepare([](Manifest&) {}), 0);
    log.commit();
    for (const uint32_t stream : {0, 1}) {
      header_.stream = stream;
      write(log_file_path(stream == 0 ? "a" : "b", stream), header_);
    }
  }
  static void write(const std::string& path, const LogFileHeader& header) {
    const std::vector<std::byte> block = header.encode();
    EXPECT_EQ(
        platform::replace_file(path, {reinterpret_cast<const char*>(block.data()), block.size()}),
        0);
  }

  MemoryFiles disk_;
  const platform::ReplaceFiles replace_{disk_};
  LogFileHeader header_;
};

using UnreadableLogDeathTest = UnreadableLog;

// A file that cannot be read must not be treated as missing.
TEST_F(UnreadableLogDeathTest, AnUnreadableFileEndsTheProcess) {
  EXPECT_EQ(find_log_files({"a", "b"}).error, "");
  const auto ends = [&](const std::string& path, FileCall call, int error) {
    const auto find = [&] {
      disk_.fail(path, call, error);
      find_log_files({"a", "b"});
      std::_Exit(0);
    };
    EXPECT_EXIT(as_main(find), testing::ExitedWithCode(3), path + ".*: " + strerror(error));
  };
  for (const int error : {EACCES, EIO, EMFILE}) {
    ends("a/manifest", FileCall::kOpen, error);  // the copy in the same directory is read first
    ends("b/member-5", FileCall::kOpen, error);
    ends("b/stream-1.log.db", FileCall::kStatus, error);
    ends("b/stream-1.log.db", FileCall::kOpen, error);
    ends("b/stream-1.log.db", FileCall::kRead, error);
  }
}

TEST_F(UnreadableLog, UnreadableSegmentsAreAnError) {
  const std::string path = log_file_path("a", 0);
  write(path + ".1", header_);
  std::vector<SegmentFile> segments;
  EXPECT_EQ(segment_files_of(path, &segments), 0);
  EXPECT_EQ(segments.size(), 1u);
  EXPECT_EQ(segment_files_in("none", &segments), 0);
  EXPECT_TRUE(segments.empty());
  disk_.fail(path + ".1", FileCall::kStatus, EIO);
  EXPECT_EQ(segment_files_of(path, &segments), EIO);
  EXPECT_EQ(SegmentedFile(path, Segments{kLogHeaderBytes}).error(),
            "cannot list the segments of the log file " + path + ": Input/output error");
  EXPECT_EQ(LogReader(std::vector{path}).error(),
            "cannot list the segments of the log file " + path + ": Input/output error");
}

}  // namespace
}  // namespace logjam
