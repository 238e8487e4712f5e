// Logs that continue in segment files: how segments are written, made ahead, read and recycled.
#include "logging/format/segments.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <set>

#include "platform/memory.h"
#include "tests/command_error.h"
#include "tests/logging/log_fixture.h"
#include "tests/wrapped_files.h"

namespace logjam {
namespace {

constexpr uint64_t kSegment = 16384;
constexpr uint32_t kRecordBytes = 1000;  // so some records straddle two segments

LogOptions options_of(const LogDirectory& directory, const std::string& device) {
  LogOptions options = log_options(*find_scheme("centr"), directory, device, 1);
  options.config.buffer_bytes = 65536;
  options.preallocate_bytes = options.segment_bytes = kSegment;
  return options;
}

void write_records(const LogOptions& options, uint64_t count) {
  Log log(options);
  log.start();
  for (uint64_t i = 0; i < count; ++i) {
    log.scheme().wait_durable(0, publish_record(log, 0, i, kRecordBytes).point);
  }
}

// Expects every published record, in order.
void expect_records(const std::string& path, uint64_t count) {
  const ReadLog log = read_log(path);
  EXPECT_EQ(log.error, "");
  EXPECT_TRUE(log.filled_rightly);
  EXPECT_EQ(find_damage({log.tail}), "");
  ASSERT_EQ(log.records.size(), count) << log.tail.why;
  uint64_t i = 0;
  for (const auto& [position, record] : log.records) EXPECT_EQ(record.txn, i++);
}

uint64_t inode(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

TEST(Segments, RecordsThatLieInTwoSegmentsAreReadBack) {
  for (const char* device : {"file", "sync", "faulty:file", "faulty:sync"}) {
    SCOPED_TRACE(device);
    const LogDirectory directory;
    write_records(options_of(directory, device), 200);
    EXPECT_GE(segment_files(directory.file()).size(), 200 * kRecordBytes / kSegment);
    EXPECT_EQ(std::filesystem::file_size(directory.file()), kSegment);
    expect_records(directory.file(), 200);
  }
}

// Notes after each sync the names and lengths of the files that a power cut would leave.
class Durable : public WrappedFiles {
 public:
  int sync(int file) override { return after(file, WrappedFiles::sync(file)); }
  int sync_data(int file) override { return after(file, WrappedFiles::sync_data(file)); }

  std::mutex mutex;  // guards the other members
  std::map<std::string, uint64_t> lengths;
  std::set<std::string> names;

 private:
  int after(int file, int result) {
    const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file));
    // If the log did not wait for this sync, it would write to the file during this sleep.
    usleep(2'000);
    const std::lock_guard<std::mutex> hold(mutex);
    if (std::filesystem::is_directory(path)) {
      for (const auto& entry : std::filesystem::directory_iterator(path)) {
        names.insert(entry.path());
      }
    } else {
      lengths[path] = std::filesystem::file_size(path);
    }
    return result;
  }
};

TEST(Segments, TheLogUsesASegmentOnlyWhenItsBytesAndItsNameAreDurable) {
  constexpr uint64_t kLong = uint64_t{512} << 10;  // zeroed in two steps
  for (const char* device_name : {"file", "sync"}) {
    SCOPED_TRACE(device_name);
    const LogDirectory directory;
    const platform::MirroredMemory memory(kLong);
    Durable durable;
    const platform::ReplaceFiles replace(durable);
    const auto device =
        open_device(device_name,
                    {.path = directory.file(), .preallocate_bytes = kLong, .segment_bytes = kLong});
    for (uint64_t at = kLong / 2; at < 10 * kLong; at += kLong) {
      device->write_through(at, {memory.data(), kLong});  // straddles two segments
      const std::lock_guard<std::mutex> hold(durable.mutex);
      for (uint64_t index = 0; index <= at / kLong + 1; ++index) {
        const std::string path = segment_path(directory.file(), index);
        ASSERT_EQ(durable.lengths[path], kLong) << path;
        ASSERT_TRUE(durable.names.contains(path)) << path;
      }
    }
  }
}

TEST(SegmentsDeathTest, ASegmentThatCannotBeMadeEndsTheProcessOnlyWhenTheLogReachesIt) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const bool device_node : {true, false}) {
    const LogDirectory directory;
    const std::string third = segment_path(directory.file(), 2);
    if (device_node) {
      std::filesystem::create_symlink("/dev/full", third);
    } else {
      std::filesystem::create_directory(third);
    }
    EXPECT_EXIT(
        {
          const platform::MirroredMemory memory(kSegment);
          const auto device = open_device(
              device_node ? "sync" : "file",
              {.path = directory.file(), .preallocate_bytes = kSegment, .segment_bytes = kSegment});
          device->write_through(0, {memory.data(), kSegment});
          device->write_through(kSegment, {memory.data(), kSegment});
          std::cerr << "two segments are written" << std::endl;
          device->write_through(2 * kSegment, {memory.data(), kSegment});
        },
        testing::ExitedWithCode(3),
        std::string(
            "two segments are written(.|\n)*cannot grow the log file .*stream-0.log.db.2: ") +
            (device_node ? "it is neither a regular file nor a directory" : "Is a directory"));
  }
}

class ReadSegments : public testing::Test {
 protected:
  ReadSegments() {
    write_records(options_of(directory_, "sync"), kRecords);
    const ReadLog log = read_log(directory_.file());
    end_ = kLogHeaderBytes + log.tail.bytes;
  }
  std::string segment(uint64_t index) const { return segment_path(directory_.file(), index); }
  std::string damage() const {
    const ReadLog log = read_log(directory_.file());
    EXPECT_LT(log.records.size(), kRecords);
    return find_damage({log.tail});
  }

  static constexpr uint64_t kRecords = 200;
  const LogDirectory directory_;
  uint64_t end_;  // the log's end, as an offset in its file
};

TEST_F(ReadSegments, ASegmentThatWasBeingMadeIsTheEndOfTheLog) {
  const uint64_t next = end_ / kSegment + 1;
  for (const SegmentFile& file : segment_files(directory_.file())) {
    if (file.index >= next) std::filesystem::remove(segment(file.index));
  }
  expect_records(directory_.file(), kRecords);
  EXPECT_EQ(read_log(directory_.file()).tail.why, "end of log");
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{512}, kSegment / 2, kSegment}) {
    std::ofstream(segment(next)) << std::string(bytes, '\0');
    expect_records(directory_.file(), kRecords);
    EXPECT_EQ(read_log(directory_.file()).tail.why, "end of log");
  }
}

TEST_F(ReadSegments, AMissingOrShortSegmentIsDamageIfTheNextOneExists) {
  const auto because = [&](const char* what) {
    return "because " + segment(3) + what + ", and " + segment(4) + " exists";
  };
  std::filesystem::resize_file(segment(3), kSegment / 2);
  EXPECT_NE(damage().find(because(" is too short")), std::string::npos) << damage();
  std::filesystem::remove(segment(3));
  EXPECT_NE(damage().find(because(" is missing")), std::string::npos) << damage();
}
TEST(Segments, AHoleAfterTheEndOfTheLogIsDamageToo) {
  const LogDirectory directory;
  write_records(options_of(directory, "sync"), 20);
  const uint64_t unused = (kLogHeaderBytes + 22 * kRecordBytes) / kSegment + 1;
  std::filesystem::remove(segment_path(directory.file(), unused));
  std::ofstream(segment_path(directory.file(), unused + 1)) << std::string(kSegment, '\0');
  const ReadLog log = read_log(directory.file());
  EXPECT_EQ(log.records.size(), 20u);
  EXPECT_NE(find_damage({log.tail}), "");
}

TEST(Segments, ALogBeforeSegmentsIsRead) {
  const LogDirectory directory;
  LogOptions options = options_of(directory, "sync");
  options.preallocate_bytes = 0;  // so that the log's header has no segments
  write_records(options, 100);
  EXPECT_TRUE(segment_files(directory.file()).empty());
  // A stray file is not a segment of this log.
  std::ofstream(segment_path(directory.file(), 2)) << std::string(kSegment, 'x');
  expect_records(directory.file(), 100);
}

TEST(Segments, ANewLogUsesTheSegmentFilesThatItPreallocatesAndGivesTheOthersBack) {
  const LogDirectory directory;
  LogOptions options = options_of(directory, "file");
  options.preallocate_bytes = 4 * kSegment;
  write_records(options, 2000);
  const uint64_t first = inode(directory.file()), last = inode(segment_path(directory.file(), 3));
  const size_t before = segment_files(directory.file()).size();
  options.device = "sync";
  write_records(options, 100);
  expect_records(directory.file(), 100);
  EXPECT_EQ(inode(directory.file()), first);
  EXPECT_EQ(inode(segment_path(directory.file(), 3)), last);
  EXPECT_LT(segment_files(directory.file()).size(), before);
}

TEST(Segments, ANewLogMayHaveSegmentsOfAnotherLengthOrNone) {
  const LogDirectory directory;
  for (const uint64_t bytes : {kSegment, 2 * kSegment, kSegment / 2, uint64_t{0}, kSegment}) {
    SCOPED_TRACE(bytes);
    LogOptions options = options_of(directory, "sync");
    options.segment_bytes = options.preallocate_bytes = bytes;
    write_records(options, 60);
    expect_records(directory.file(), 60);
    for (const SegmentFile& file : segment_files(directory.file())) {
      EXPECT_LE(file.bytes, bytes) << file.index;
    }
  }
  LogOptions other = options_of(directory, "null");
  other.device = "nvm";
  write_records(other, 5);
  expect_records(directory.file(), 5);
  EXPECT_TRUE(segment_files(directory.file()).empty());
}

TEST(SegmentsDeathTest, SegmentsWhoseLogFileIsGoneAreReplacedOnlyWhenToldTo) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const LogDirectory directory;
  LogOptions options = options_of(directory, "sync");
  write_records(options, 100);
  std::filesystem::remove(directory.file());
  options.overwrite = false;
  EXPECT_REFUSED(const Log log(options),
                 "holds a log of scheme .*; --continue goes on with it, --overwrite replaces it");
  options.overwrite = true;
  write_records(options, 3);
  expect_records(directory.file(), 3);
}

}  // namespace
}  // namespace logjam
