#include "logging/format/log_file.h"

#include <gtest/gtest.h>

#include <string>

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
  EXPECT_EQ(read.run, header.run);
  EXPECT_EQ(read.revision, header.revision);
  EXPECT_EQ(read.flags, header.flags);
}

TEST(LogFileHeader, FlagsThatDoNotFitAreRefused) {
  LogFileHeader header;
  header.flags["long"] = std::string(kLogHeaderBytes, 'x');
  EXPECT_EXIT(header.encode(), testing::ExitedWithCode(2), "the flags to be stored in the log's");
}

}  // namespace
}  // namespace logjam
