#include "logging/format/log_file.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/temporary_directory.h"

namespace logjam {
namespace {

TEST(LogFileHeader, DecodingReturnsTheEncodedValues) {
  LogFileHeader header;
  header.scheme = "centr";
  header.device = "sim:100:1200";
  header.log_records = "op";
  header.stream = 3;
  header.streams = 4;
  header.workers = 17;
  header.segment_bytes = uint64_t{64} << 20;
  header.run = 0xfedcba9876543210;
  header.revision = "abc\nscheme=none\nend 1";
  header.flags = {{"ycsb_theta", "0.9"}, {"odd", "100%\n%n%%=="}, {"empty", ""}};
  LogFileHeader read;
  ASSERT_EQ(read.decode(header.encode()), "");
  EXPECT_EQ(read.scheme, header.scheme);
  EXPECT_EQ(read.device, header.device);
  EXPECT_EQ(read.log_records, header.log_records);
  EXPECT_EQ(read.stream, header.stream);
  EXPECT_EQ(read.streams, header.streams);
  EXPECT_EQ(read.workers, header.workers);
  EXPECT_EQ(read.segment_bytes, header.segment_bytes);
  EXPECT_EQ(read.run, header.run);
  EXPECT_EQ(read.revision, header.revision);
  EXPECT_EQ(read.flags, header.flags);
}

// The block of a header whose first line says `version`.
std::vector<std::byte> block_of_version(const std::string& version) {
  LogFileHeader header;
  header.run = 7;
  const std::vector<std::byte> block = header.encode();
  std::string lines(reinterpret_cast<const char*>(block.data()), block.size());
  lines = "logjam log " + version +
          lines.substr(lines.find('\n'), lines.find("\nend ") + 1 - lines.find('\n'));
  std::ostringstream text;
  text << lines << "end " << std::hex << XXH3_64bits(lines.data(), lines.size()) << "\n";
  std::vector<std::byte> changed(kLogHeaderBytes);
  std::memcpy(changed.data(), text.str().data(), text.str().size());
  return changed;
}

TEST(LogFileHeader, VersionsOneAndTwoAreRead) {
  for (const char* version : {"1", "2"}) {
    LogFileHeader read;
    EXPECT_EQ(read.decode(block_of_version(version)), "");
    EXPECT_EQ(read.run, 7u);
  }
  LogFileHeader read;
  EXPECT_EQ(read.decode(block_of_version("3")), "it does not start with \"logjam log 2\"");
}

TEST(LogFileHeader, AFileThatEndsInItsHeaderIsRefused) {
  const TemporaryDirectory directory;
  const std::string path = directory.path_of("log");
  const std::vector<std::byte> block = LogFileHeader().encode();
  std::ofstream(path).write(reinterpret_cast<const char*>(block.data()), kLogHeaderBytes - 1);
  LogFileHeader read;
  EXPECT_EQ(read_log_file_header(path, &read),
            path + " is not a log file: it is shorter than its header");
}

TEST(LogFileHeader, FlagsThatDoNotFitAreRefused) {
  LogFileHeader header;
  header.flags["long"] = std::string(kLogHeaderBytes, 'x');
  EXPECT_EXIT(header.encode(), testing::ExitedWithCode(2), "the flags to be stored in the log's");
}

}  // namespace
}  // namespace logjam
