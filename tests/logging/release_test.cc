// The beginning of a log is released while the log is written, and its files are removed or used
// again. Every record after a StreamStart must still be readable.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "logging/device/device_file.h"
#include "tests/logging/log_fixture.h"
#include "tests/logging/watchdog.h"
#include "tests/wrapped_files.h"

namespace logjam {
namespace {

constexpr uint64_t kSegment = uint64_t{64} << 10, kMiB = uint64_t{1} << 20;
constexpr uint32_t kRecordBytes = 1000;

LogOptions with_segments(LogOptions options) {
  options.config.buffer_bytes = kSegment;
  options.config.stripe_bytes = 4096;
  options.preallocate_bytes = options.segment_bytes = kSegment;
  return options;
}

// Writes `count` records. After every `kEach` records, calls `released(txn, position)` and then
// releases all but about the last `kKept` records. `txn` is the first record that is kept, and
// begins at `position`.
constexpr uint64_t kEach = 50, kKept = 150;
template <class Released>
void write_and_release(Log& log, uint64_t count, const Released& released) {
  std::vector<uint64_t> positions;
  for (uint64_t i = 0; i < count; ++i) {
    const Published one = publish_record(log, 0, i, kRecordBytes);
    positions.push_back(one.position);
    if (i % kEach != kEach - 1) continue;
    log.scheme().wait_durable(0, one.point);
    if (i < kKept) continue;
    released(i - kKept, positions[i - kKept]);
    log.release({positions[i - kKept]});
  }
}

void expect_records_from(const LogOptions& options, uint64_t position, uint64_t first,
                         uint64_t at_least) {
  LogReader reader(find_log_files(options.directories).paths[0], {position, 0, 0});
  ASSERT_EQ(reader.error(), "");
  RecordBatch batch;
  uint64_t next = first;
  while (reader.next(&batch)) {
    for (const RecordHeader* record : batch.records) {
      EXPECT_EQ(record->txn, next++);
      EXPECT_TRUE(filled_rightly(*record));
    }
  }
  EXPECT_GE(next, at_least) << reader.tail().why;
  EXPECT_EQ(find_damage({reader.tail()}), "");
}

// Returns the largest number of files that a released log may have in each of its directories.
uint64_t most_files(uint64_t directories) {
  // Before a release, the log has the records kept by the previous release, and all later records.
  // These records may begin and end anywhere in a segment, and writes are padded to whole blocks.
  const uint64_t live_bytes = (kKept + 1 + kEach) * kRecordBytes / directories + kLogHeaderBytes;
  const uint64_t live = live_bytes / kSegment + 2;
  // The grower makes one preallocated segment and a burst of 1 MiB ahead.
  const uint64_t ahead = 1 + kMiB / kSegment;
  // Free segments are at most two more than the segments made ahead.
  const uint64_t free = ahead + 2;
  const uint64_t log_file = 1;  // never released
  return log_file + free + live + ahead;
}

TEST(Release, ALogThatIsReleasedUsesFewFilesAndIsReadFromItsStart) {
  constexpr uint64_t kRecords = 8000;
  for (const char* device : {"file", "sync", "faulty:file", "faulty:sync"}) {
    for (const uint64_t directories : {1, 2}) {
      SCOPED_TRACE(std::string(device) + " " + std::to_string(directories));
      ASSERT_GT(kRecords * kRecordBytes / directories / kSegment, most_files(directories))
          << "a log that is never released has more files";
      const LogDirectory directory;
      LogOptions options = with_segments(log_options(*find_scheme("centr"), directory, device, 1));
      options.preallocate_bytes *= directories;
      options.directories.clear();
      for (uint64_t i = 0; i < directories; ++i) {
        options.directories.push_back(directory.path() + "/" + std::to_string(i));
      }
      // An open descriptor of each directory's first segment shows whether this file is used again.
      std::vector<int> first_segments;
      uint64_t first = 0, start = 0;
      {
        Log log(options);
        log.start();
        write_and_release(log, kRecords, [&](uint64_t txn, uint64_t position) {
          for (const std::string& one : options.directories) {
            if (first == 0) {
              first_segments.push_back(
                  open(segment_path(log_file_path(one, 0), 1).c_str(), O_RDONLY | O_CLOEXEC));
            }
            const auto files = segment_files(one);
            EXPECT_LE(1 + files.size(), most_files(directories));
            for (const SegmentFile& file : files) EXPECT_LE(file.bytes, kSegment);
          }
          first = txn;
          start = position;
        });
      }
      for (const int file : first_segments) {
        struct stat status {};
        ASSERT_EQ(fstat(file, &status), 0);
        EXPECT_EQ(status.st_nlink, 1u) << "it was removed";
        close(file);
      }
      for (const std::string& one : options.directories) {
        EXPECT_FALSE(std::filesystem::exists(segment_path(log_file_path(one, 0), 1)));
      }
      EXPECT_EQ(first, kRecords - 1 - kKept);
      expect_records_from(options, start, first, kRecords);
    }
  }
}

TEST(FreeSegments, BecomeTheNextSegmentsAndAreRemovedBeyondABound) {
  const LogDirectory directory;
  const auto write = [&](uint64_t index, const std::string& text) {
    std::ofstream(segment_path(directory.file(), index)) << text;
  };
  // Returns the contents of the files of segments 0 to 11, with "-" for a missing file.
  const auto files = [&] {
    std::string all;
    for (uint64_t index = 0; index < 12; ++index) {
      std::ifstream in(segment_path(directory.file(), index));
      std::string text;
      all += in >> text ? text : "-";
    }
    return all;
  };
  for (uint64_t index = 0; index < 8; ++index) write(index, std::string(1, char('a' + index)));
  FreeSegments free(directory.file());
  EXPECT_EQ(free.become(8), 0);
  EXPECT_EQ(files(), "abcdefgh----") << "none is free";
  EXPECT_EQ(free.release(3, 4), 0);
  EXPECT_EQ(free.released(), 3u);
  EXPECT_EQ(files(), "abcdefgh----");
  EXPECT_EQ(free.become(8), 0);
  EXPECT_EQ(files(), "a-cdefghb---");
  EXPECT_EQ(free.become(8), 0);
  EXPECT_EQ(files(), "a-cdefghb---") << "there is a file of that name";
  EXPECT_EQ(free.release(6, 2), 0);
  EXPECT_EQ(files(), "a---efghb---") << "segments 2 and 3 are too many";
  EXPECT_EQ(free.release(5, 0), 0);
  EXPECT_EQ(free.released(), 6u) << "a release is not taken back";
  for (uint64_t index = 9; index < 12; ++index) EXPECT_EQ(free.become(index), 0);
  EXPECT_EQ(files(), "a-----ghbef-");
}

// When a segment is used again, its old bytes must not be read as records.
TEST(Release, ALogThatEndsInASegmentThatWasUsedBeforeEndsThere) {
  const LogDirectory directory;
  const LogOptions options =
      with_segments(log_options(*find_scheme("centr"), directory, "sync", 1));
  for (const uint64_t records : {2001, 2011, 2027, 2040}) {
    uint64_t first = 0, start = 0;
    {
      Log log(options);
      log.start();
      write_and_release(log, records, [&](uint64_t txn, uint64_t position) {
        first = txn;
        start = position;
      });
    }
    LogReader reader(find_log_files(options.directories).paths[0], {start, 0, 0});
    RecordBatch batch;
    while (reader.next(&batch)) {
    }
    EXPECT_EQ(reader.tail().records, records - first);
    EXPECT_EQ(reader.tail().why, "end of log");
  }
}

// Tests every scheme, including those with several streams, and devices without segments.
class ReleaseEvery : public testing::TestWithParam<const SchemeInfo*> {};

TEST_P(ReleaseEvery, StreamIsTheSameAfterItsStart) {
  constexpr uint32_t kWorkers = 3;
  for (const char* device : {"file", "sim:0", "faulty:sync", "nvm"}) {
    SCOPED_TRACE(device);
    const LogDirectory directory;
    const LogOptions options =
        with_segments(log_options_of_many(*GetParam(), directory, device, kWorkers, 3));
    std::vector<uint64_t> released;
    const auto read = [&] {
      std::vector<std::map<uint64_t, uint64_t>> sequences;
      StreamTails tails;
      const LogFiles files = find_log_files(options.directories);
      for (size_t s = 0; s < files.paths.size(); ++s) {
        LogReader reader(files.paths[s], {released[s], 0, 0});
        RecordBatch batch;
        sequences.emplace_back();
        while (reader.next(&batch)) {
          for (size_t i = 0; i < batch.records.size(); ++i) {
            sequences[s][batch.positions[i]] = batch.records[i]->sequence;
          }
        }
        tails.push_back(reader.tail());
      }
      EXPECT_EQ(find_damage(tails), "");
      return sequences;
    };
    const auto publish = [&](Log& log, uint64_t count) {
      for (uint64_t i = 0; i < count; ++i) {
        const auto worker = static_cast<uint32_t>(i % kWorkers);
        const Published one = publish_record(log, worker, i, kRecordBytes);
        log.scheme().poll(worker);
        if (i % 20 == 0) log.scheme().wait_durable(worker, one.point);
      }
      log.drain();
    };
    Log log(options);
    log.start();
    publish(log, 400);
    released = log.scheme().published_positions();
    EXPECT_EQ(released, log.scheme().durable_positions());
    publish(log, 100);
    const auto before = read();
    log.release(released);
    EXPECT_EQ(read(), before);
    publish(log, 300);
    const auto after = read();
    for (size_t s = 0; s < before.size(); ++s) {
      for (const auto& [position, sequence] : before[s]) {
        const auto found = after[s].find(position);
        ASSERT_NE(found, after[s].end()) << s;
        EXPECT_EQ(found->second, sequence);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReleaseEvery, testing::ValuesIn(logging_schemes()), scheme_test_name);

// A run ends during a release. `*first_kept` is the first record that the run's last release keeps,
// or 0 before the first release.
std::atomic<uint64_t>* first_kept;

// Ends the process in one of the syncs after the first release.
class EndingFiles : public WrappedFiles {
 public:
  explicit EndingFiles(int syncs_to_come) : syncs_to_come_(syncs_to_come) {}
  int sync(int file) override { return ends(), WrappedFiles::sync(file); }
  int sync_data(int file) override { return ends(), WrappedFiles::sync_data(file); }

 private:
  void ends() {
    if (*first_kept != 0 && --syncs_to_come_ == 0) _exit(1);
  }
  int syncs_to_come_;
};

TEST(Release, ACrashAtAnyStepLeavesALogThatIsReadFromItsStart) {
  void* shared =
      mmap(nullptr, sizeof(*first_kept), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  first_kept = new (shared) std::atomic<uint64_t>;
  const LogDirectory directory;
  const LogOptions options =
      with_segments(log_options(*find_scheme("centr"), directory, "file", 1));
  for (int steps = 1; steps <= 24; ++steps) {
    SCOPED_TRACE(steps);
    *first_kept = 0;
    const pid_t child = fork();
    if (child == 0) {
      EndingFiles files(steps);
      const platform::ReplaceFiles replace(files);
      Log log(options);
      log.start();
      write_and_release(log, 100'000, [](uint64_t txn, uint64_t position) {
        if (position != txn * kRecordBytes) _exit(2);
        *first_kept = txn;
      });
      _exit(2);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
    expect_records_from(options, *first_kept * kRecordBytes, *first_kept, *first_kept + kKept);
  }
  munmap(shared, sizeof(*first_kept));
}

size_t open_files_in(const std::string& directory) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string path = std::filesystem::read_symlink(entry.path(), gone);
    if (!gone && path.starts_with(directory + "/")) ++count;
  }
  return count;
}

TEST(ReleaseDeathTest, ASegmentThatIsUsedAgainIsNotOpenUnderItsOldNumber) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const LogDirectory directory;
  const platform::MirroredMemory memory(kSegment);
  const auto device = open_device(
      "sync", {.path = directory.file(), .preallocate_bytes = kSegment, .segment_bytes = kSegment});
  for (uint64_t index = 0; index < 6; ++index) {
    device->write_through(index * kSegment, {memory.data(), kSegment});
  }
  device->release(5 * kSegment + 100);
  device->write_through(5 * kSegment, {memory.data(), kSegment});
  // The files of segments 0 and 5, and sometimes a file that the grower is making.
  size_t open = open_files_in(directory.path());
  for (int i = 0; i < 20'000 && open > 2; ++i) {
    usleep(1000);
    open = open_files_in(directory.path());
  }
  EXPECT_LE(open, 2u);
  EXPECT_DEATH(device->write_through(4 * kSegment, {memory.data(), 512}), "index >= released");
}

TEST(Release, AFileWithoutSegmentsGivesItsBlocksBack) {
  for (const char* device_name : {"sim:0", "sync", "nvm", "faulty:sim:0"}) {
    SCOPED_TRACE(device_name);
    const LogDirectory directory;
    const int scratch = open((directory.path() + "/scratch").c_str(), O_RDWR | O_CREAT, 0600);
    ASSERT_EQ(posix_fallocate(scratch, 0, 8192), 0);
    const bool can = fallocate(scratch, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0;
    close(scratch);
    if (!can) GTEST_SKIP() << "the file system does not take blocks back";
    const platform::MirroredMemory memory(kMiB);
    std::memset(memory.data(), 'x', kMiB);
    const auto device = open_device(device_name, {.path = directory.file()});
    for (uint64_t at = 0; at < 8; ++at) device->write_through(at * kMiB, {memory.data(), kMiB});
    const auto file = [&](struct stat* status) {
      sync();
      return stat(directory.file().c_str(), status) == 0;
    };
    struct stat before, after;
    ASSERT_TRUE(file(&before));
    device->release(6 * kMiB + 5000);
    ASSERT_TRUE(file(&after));
    EXPECT_EQ(after.st_size, before.st_size);
    EXPECT_LE(static_cast<uint64_t>(after.st_blocks) * 512 + 5 * kMiB,
              static_cast<uint64_t>(before.st_blocks) * 512);
    // The header and all bytes that were not released must still be there.
    std::string bytes(8 * kMiB, '\0');
    const int fd = open(directory.file().c_str(), O_RDONLY);
    EXPECT_EQ(pread(fd, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    close(fd);
    EXPECT_EQ(bytes.substr(0, 4096), std::string(4096, 'x'));
    EXPECT_EQ(bytes.substr(6 * kMiB + 5000), std::string(2 * kMiB - 5000, 'x'));
    EXPECT_EQ(bytes[4096], '\0');
  }
}

TEST(Release, OnlySegmentsBeforeTheStartMayBeMissing) {
  const LogDirectory directory;
  const LogOptions options =
      with_segments(log_options(*find_scheme("centr"), directory, "sync", 1));
  std::vector<uint64_t> positions;
  {
    Log log(options);
    log.start();
    for (uint64_t i = 0; i < 500; ++i) {
      const Published one = publish_record(log, 0, i, kRecordBytes);
      positions.push_back(one.position);
      if (i % 40 == 0) log.scheme().wait_durable(0, one.point);
    }
  }
  const uint64_t start = 3 * kSegment / kRecordBytes + 5;
  std::filesystem::remove(segment_path(directory.file(), 1));
  std::filesystem::remove(segment_path(directory.file(), 2));
  expect_records_from(options, positions[start], start, 500);
  const auto damage = [&] {
    LogReader reader(std::vector<std::string>{directory.file()}, {positions[start], 0, 0});
    RecordBatch batch;
    while (reader.next(&batch)) {
    }
    return find_damage({reader.tail()});
  };
  std::filesystem::rename(segment_path(directory.file(), 5), directory.path() + "/away");
  EXPECT_NE(damage().find(segment_path(directory.file(), 5) + " is missing, and "),
            std::string::npos)
      << damage();
  std::filesystem::rename(directory.path() + "/away", segment_path(directory.file(), 5));
  std::filesystem::remove(segment_path(directory.file(), 3));
  EXPECT_NE(damage().find(segment_path(directory.file(), 3) + " is missing, and "),
            std::string::npos)
      << damage();
}

}  // namespace
}  // namespace logjam
