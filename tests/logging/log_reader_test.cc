// The reader reads logs that are cut, damaged, or mixed with bytes of an earlier run. It must
// return exactly a prefix of the written records, and the reason why the log ends.
#include "logging/format/log_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "tests/logging/log_fixture.h"

namespace logjam {
namespace {

std::vector<char> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Overwrites the file in place. If the file were truncated first, ext4 would sync it.
void write_file(const std::string& path, const std::vector<char>& bytes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT, 0644);
  ASSERT_EQ(pwrite(fd, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  ASSERT_EQ(ftruncate(fd, static_cast<off_t>(bytes.size())), 0);
  close(fd);
}

class LogReaderTest : public testing::Test {
 protected:
  // Writes `count` records with `centr` on the device `sync`. Returns the records in log order.
  std::vector<Published> write_log(uint32_t count, uint64_t seed, uint32_t max_bytes = 400) {
    LogOptions options = log_options(*find_scheme("centr"), directory_, "sync", 1);
    options.config.buffer_bytes = uint64_t{16} << 20;
    Log log(options);
    log.start();
    std::mt19937_64 random(seed);
    std::vector<Published> published;
    for (uint32_t i = 0; i < count; ++i) {
      const auto bytes = static_cast<uint32_t>(48 + random() % (max_bytes - 40) / 8 * 8);
      published.push_back(publish_record(log, 0, i, bytes));
    }
    log.drain();
    return published;
  }

  // Expects `log` to be a prefix of `published`. Returns the number of records in `log`.
  static size_t expect_prefix(const ReadLog& log, const std::vector<Published>& published) {
    EXPECT_LE(log.records.size(), published.size());
    EXPECT_TRUE(log.filled_rightly);
    size_t i = 0;
    for (const auto& [position, record] : log.records) {
      EXPECT_EQ(position, published[i].position);
      EXPECT_EQ(record.sequence, published[i].sequence);
      EXPECT_EQ(record.txn, published[i].txn);
      EXPECT_EQ(record.bytes, published[i].bytes);
      ++i;
    }
    EXPECT_EQ(log.tail.records, i);
    EXPECT_EQ(log.tail.bytes, i == 0 ? 0 : published[i - 1].position + published[i - 1].bytes);
    EXPECT_EQ(log.tail.last_sequence, i == 0 ? 0 : published[i - 1].sequence);
    EXPECT_FALSE(log.error.empty() && log.tail.why.empty());
    return i;
  }

  LogDirectory directory_;
};

TEST_F(LogReaderTest, ALogCutAtAnyByteEndsAtTheLastCompleteRecord) {
  const auto published = write_log(50, 1);
  const auto whole = read_file(directory_.file());
  const uint64_t end = published.back().position + published.back().bytes;
  for (uint64_t cut = published[46].position; cut <= end; ++cut) {
    auto bytes = whole;
    bytes.resize(kLogHeaderBytes + cut);
    // Without zeros, the file has lost its end. With zeros, the file has lost a write.
    for (const bool zeros_after : {false, true}) {
      if (zeros_after) bytes.resize(whole.size());
      write_file(directory_.file(), bytes);
      const ReadLog log = read_log(directory_.file());
      size_t complete = 0;
      while (complete < 50 && published[complete].position + published[complete].bytes <= cut) {
        ++complete;
      }
      // A record stays complete if only zeros at its end are cut, and zeros follow.
      const size_t found = expect_prefix(log, published);
      EXPECT_GE(found, complete) << "cut at " << cut;
      if (!zeros_after) {
        EXPECT_EQ(found, complete) << "cut at " << cut;
      }
    }
  }
}

TEST_F(LogReaderTest, AfterRandomCorruptionAPrefixIsRead) {
  const auto published = write_log(60, 2);
  const auto whole = read_file(directory_.file());
  const uint64_t used = kLogHeaderBytes + published.back().position + published.back().bytes;
  std::mt19937_64 random(20240607);
  const int fd = open(directory_.file().c_str(), O_RDWR);
  ASSERT_GE(fd, 0);
  const auto header_end = static_cast<uint64_t>(
      std::find(whole.begin(), whole.begin() + kLogHeaderBytes, '\0') - whole.begin());
  for (int round = 0; round < 10000; ++round) {
    auto bytes = whole;
    uint64_t first = used;  // the first byte that differs
    for (uint64_t n = 1 + random() % 3; n > 0; --n) {
      // A third of the changes hit the header's text, and two thirds hit the records. A change
      // flips bits, or writes random bytes, zeros, or bytes from elsewhere in the log.
      const bool in_header = random() % 3 == 0;
      const uint64_t at =
          in_header ? random() % header_end : kLogHeaderBytes + random() % (used - kLogHeaderBytes);
      const uint64_t limit = in_header ? header_end : used;
      const uint64_t count = std::min(limit - at, uint64_t{1} << random() % 8);
      const uint64_t from = kLogHeaderBytes + random() % (used - kLogHeaderBytes - count);
      const uint64_t how = random() % 4;
      for (uint64_t i = 0; i < count; ++i) {
        char& byte = bytes[at + i];
        if (how == 0) byte = static_cast<char>(byte ^ (1 << random() % 8));
        if (how == 1) byte = static_cast<char>(random());
        if (how == 2) byte = 0;
        if (how == 3) byte = whole[from + i];
      }
    }
    for (uint64_t i = 0; i < used; ++i) {
      if (bytes[i] != whole[i]) {
        first = i;
        break;
      }
    }
    ASSERT_EQ(pwrite(fd, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    const ReadLog log = read_log(directory_.file());
    if (first < kLogHeaderBytes) {
      EXPECT_NE(log.error, "");
      EXPECT_EQ(log.records.size(), 0u);
      continue;
    }
    ASSERT_EQ(log.error, "");
    size_t intact = 0;
    while (intact < published.size() &&
           kLogHeaderBytes + published[intact].position + published[intact].bytes <= first) {
      ++intact;
    }
    EXPECT_EQ(expect_prefix(log, published), intact) << "round " << round;
  }
  close(fd);
}

TEST_F(LogReaderTest, RandomFilesAreRefused) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<char> bytes(random() % 20000);
    for (char& byte : bytes) byte = static_cast<char>(random());
    write_file(directory_.file(), bytes);
    const ReadLog log = read_log(directory_.file());
    EXPECT_NE(log.error.find("is not a log file"), std::string::npos) << log.error;
    EXPECT_NE(find_log_files({directory_.path()}).error, "");
  }
}

TEST_F(LogReaderTest, FindsTheValidRecordsAfterAnyNumberOfEqualBytes) {
  constexpr size_t kRecords = 500, kFirst = 5;  // the records need more than a window of 64 KiB
  const auto published = write_log(kRecords, 6);
  const auto whole = read_file(directory_.file());
  for (size_t next = kFirst + 1; next < kRecords; next += next < 40 ? 1 : 23) {
    for (const char byte : {'\0', '\xff'}) {
      auto bytes = whole;
      const auto at = [&](size_t record) {
        return bytes.begin() + static_cast<ptrdiff_t>(kLogHeaderBytes + published[record].position);
      };
      std::fill(at(kFirst), at(next), byte);
      write_file(directory_.file(), bytes);
      const std::string what = byte == 0 ? "zeros" : "torn, stale or corrupt record";
      const std::string why = read_log(directory_.file()).tail.why;
      EXPECT_TRUE(why.starts_with(what + " at byte " + std::to_string(published[kFirst].position) +
                                  "; " + std::to_string(kRecords - next) + " valid record(s)"))
          << why << "; record " << next;
    }
  }
}

// Reads the log to its end, in windows of `window_bytes`. Returns the tail.
StreamTail tail_with_window(const std::string& path, uint64_t window_bytes, LogMemoryMeter* meter) {
  LogReader reader(std::vector<std::string>{path}, {}, {window_bytes, meter});
  RecordBatch batch;
  while (reader.next(&batch)) {
  }
  return reader.tail();
}

// After the damage there are records shorter than a window, and records longer than a window.
TEST_F(LogReaderTest, FindsTheSameAfterTheDamageInAWindowOfAnyLength) {
  const auto published = write_log(40, 5, 1 << 20);
  auto bytes = read_file(directory_.file());
  bytes[kLogHeaderBytes + published[10].position + 40] ^= 1;
  write_file(directory_.file(), bytes);
  uint64_t bytes_after = 0;
  for (size_t i = 11; i < 40; ++i) bytes_after += published[i].bytes;
  LogMemoryMeter unused;
  const StreamTail whole = tail_with_window(directory_.file(), 64 << 20, &unused);
  ASSERT_FALSE(whole.vouchers.empty());
  for (const uint64_t kib : {64, 200, 4096}) {
    LogMemoryMeter meter;
    const StreamTail tail = tail_with_window(directory_.file(), kib << 10, &meter);
    EXPECT_EQ(tail.why, "torn, stale or corrupt record at byte " +
                            std::to_string(published[10].position) + "; 29 valid record(s) of " +
                            std::to_string(bytes_after) + " bytes after it are not used");
    EXPECT_EQ(tail.vouchers.at(0).position, whole.vouchers[0].position) << kib;
    EXPECT_EQ(tail.durable_record_end, published[10].position + published[10].bytes) << kib;
  }
}

// Some records end at a window's end, some begin there, and some straddle it.
TEST_F(LogReaderTest, FindsShortRecordsAfterTheDamageInShortWindows) {
  const auto published = write_log(3000, 11);
  auto bytes = read_file(directory_.file());
  bytes.resize(kLogHeaderBytes + published[2999].position + published[2999].bytes);
  bytes[kLogHeaderBytes + published[0].position + 40] ^= 1;
  write_file(directory_.file(), bytes);
  LogMemoryMeter meter;
  const StreamTail whole = tail_with_window(directory_.file(), 64 << 20, &meter);
  EXPECT_NE(whole.why.find("; 2999 valid record(s) of "), std::string::npos) << whole.why;
  for (uint64_t bytes = 64 << 10; bytes < 65 << 10; bytes += 40) {
    const StreamTail tail = tail_with_window(directory_.file(), bytes, &meter);
    EXPECT_EQ(tail.why, whole.why);
    EXPECT_EQ(tail.vouchers.at(0).position, whole.vouchers.at(0).position);
  }
}

// After the log there are zeros, and headers that claim 32 MiB each, as a recycled file may have.
TEST_F(LogReaderTest, NeedsLittleMemoryAtTheEndOfAStream) {
  const auto published = write_log(10, 12);
  auto bytes = read_file(directory_.file());
  const uint64_t end = kLogHeaderBytes + published.back().position + published.back().bytes;
  bytes.resize(end + (80 << 20));
  for (const bool zeros : {true, false}) {
    if (!zeros) {
      RecordHeader header{};
      header.bytes = 32 << 20;
      header.kind = RecordKind::kTransaction;
      for (const uint64_t at : {0, 1000, 1 << 20, 40 << 20}) {
        std::memcpy(bytes.data() + end + at, &header, sizeof header);
      }
    }
    write_file(directory_.file(), bytes);
    LogMemoryMeter meter;
    const StreamTail tail = tail_with_window(directory_.file(), 64 << 10, &meter);
    EXPECT_EQ(tail.records, 10u);
    EXPECT_EQ(tail.why,
              zeros ? "end of log"
                    : "torn, stale or corrupt record at byte " + std::to_string(tail.bytes));
    EXPECT_LE(meter.most(), 4 * (64 << 10));
  }
}

TEST_F(LogReaderTest, ReadsTheSameBatchesAgain) {
  write_log(40, 13, 300 << 10);
  LogReader reader(std::vector<std::string>{directory_.file()}, {}, {.window_bytes = 100 << 10});
  std::vector<RecordBatch> batches;
  for (RecordBatch batch; reader.next(&batch);) batches.push_back(batch);
  EXPECT_GT(batches.size(), 20u);
  const StreamTail tail = reader.tail();
  for (const size_t stride : {1, 3}) {  // batches in sequence, and with gaps
    for (size_t i = 0; i < batches.size(); i += stride) {
      RecordBatch again;
      reader.read_again(batches[i].positions[0], &again);
      EXPECT_EQ(again.positions, batches[i].positions);
      EXPECT_EQ(*again.memory, *batches[i].memory);
    }
  }
  EXPECT_EQ(reader.tail().records, tail.records);
  EXPECT_EQ(reader.tail().bytes, tail.bytes);
  RecordBatch batch;
  EXPECT_FALSE(reader.next(&batch));
}

TEST_F(LogReaderTest, RecordsOfAnEarlierRunInARecycledFileAreNotUsed) {
  write_log(100, 6);
  const auto earlier = read_file(directory_.file());
  const auto published = write_log(10, 7);
  auto bytes = read_file(directory_.file());
  ASSERT_EQ(bytes.size(), earlier.size());  // the file is recycled
  ReadLog log = read_log(directory_.file());
  EXPECT_EQ(expect_prefix(log, published), 10u);
  EXPECT_EQ(log.tail.why, "end of log");

  // Bytes of the earlier run are in the place of a watermark record that a crash has lost.
  const auto end = static_cast<ptrdiff_t>(kLogHeaderBytes + log.tail.bytes);
  std::copy(earlier.begin() + end, earlier.end(), bytes.begin() + end);
  write_file(directory_.file(), bytes);
  log = read_log(directory_.file());
  EXPECT_EQ(expect_prefix(log, published), 10u);
  EXPECT_EQ(log.tail.why,
            "torn, stale or corrupt record at byte " + std::to_string(log.tail.bytes));
}

TEST_F(LogReaderTest, RecordsMayStraddleAndExceedTheReadersReads) {
  const auto published = write_log(12, 8, 6 << 20);
  EXPECT_EQ(expect_prefix(read_log(directory_.file()), published), 12u);
}

TEST_F(LogReaderTest, ALogWithoutRecordsEndsCleanly) {
  write_log(0, 9);
  const ReadLog log = read_log(directory_.file());
  EXPECT_EQ(log.records.size(), 0u);
  EXPECT_EQ(log.tail.why, "end of log");
}

TEST_F(LogReaderTest, FindsTheFilesOfTheLastRunOrReportsAnError) {
  EXPECT_EQ(find_log_files({directory_.path()}).error,
            "no log is in the log directories: there is no DIR/manifest");
  write_log(3, 10);
  const LogFiles files = find_log_files({directory_.path()});
  EXPECT_EQ(files.error, "");
  EXPECT_EQ(files.paths, std::vector<std::vector<std::string>>{{directory_.file()}});
  EXPECT_EQ(files.header.scheme, "centr");

  LogFileHeader header = files.header;
  const auto put = [&] {
    auto bytes = read_file(directory_.file());
    const auto block = header.encode();
    std::memcpy(bytes.data(), block.data(), block.size());
    write_file(directory_.file(), bytes);
    return find_log_files({directory_.path()}).error;
  };
  header.stream = 1;
  EXPECT_EQ(put(), directory_.file() + " says it is stripe 0 of stream 1");
  header.stream = 0;
  header.run ^= 1;
  EXPECT_EQ(put(), directory_.file() + " belongs to run " + hex(header.run) + ", not to run " +
                       hex(header.run ^ 1));
  header.run ^= 1;
  EXPECT_EQ(put(), "");
  std::filesystem::remove(directory_.file());
  EXPECT_EQ(find_log_files({directory_.path()}).error, directory_.file() + " is missing");
}

// Recovery uses a run only up to the position where the next run begins.
TEST_F(LogReaderTest, ReadsToTheEndThatItIsGiven) {
  const auto published = write_log(20, 5);
  LogFiles files = find_log_files({directory_.path()});
  const auto read_to = [&](uint64_t end) {
    files.ends = {end};
    LogReader reader(files, 0);
    RecordBatch batch;
    while (reader.next(&batch)) continue;
    return reader.tail();
  };
  const StreamTail part = read_to(published[10].position);
  EXPECT_EQ(part.records, 10u);
  EXPECT_EQ(part.bytes, published[10].position);
  EXPECT_TRUE(part.goes_on);
  EXPECT_EQ(part.why,
            "the end that the next run, or a checkpoint, is built on; valid records after it are "
            "not used");
  EXPECT_EQ(read_to(published[10].position + 8).bytes, published[10].position)
      << "no record ends there, so the stream has lost something";
  const uint64_t all = published[19].position + published[19].bytes;
  EXPECT_GE(read_to(~uint64_t{0}).bytes, all);
  EXPECT_EQ(read_to(0).records, 0u);
}

}  // namespace
}  // namespace logjam
