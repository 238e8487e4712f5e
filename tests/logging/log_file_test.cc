#include "logging/format/log_file.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/command_error.h"
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
  header.scale = "tpcc: 1 warehouse";
  header.given = "--tpcc_mix=np";
  header.flags = {{"ycsb_theta", "0.9"}, {"odd", "100%%=="}, {"empty", ""}};
  LogFileHeader read;
  ASSERT_EQ(read.decode(header.encode()), "");
  header.revision = "abc\\x0ascheme=none\\x0aend 1";  // not a line of the header
  EXPECT_EQ(read.lines(), header.lines());
}

TEST(LogFileHeader, LinesAreAsTheFormatSays) {
  LogFileHeader header;
  header.run = 0xab;
  header.log = 0xcd;
  const auto text = [&] {
    const std::vector<std::byte> block = header.encode();
    const std::string all(reinterpret_cast<const char*>(block.data()), block.size());
    return all.substr(0, all.find("end "));
  };
  const std::string common =
      "logjam log 4\nscheme=\ndevice=\nlog_records=\nstream=0\nstreams=1\nstripe=0\nstripes=1\n"
      "stripe_bytes=524288\n";
  EXPECT_EQ(text(), common + "workers=1\nrun=ab\nlog=cd\nordinal=1\nrevision=\n");
  header.segment_bytes = 8192;
  header.ordinal = 3;
  EXPECT_EQ(text(),
            common + "segment_bytes=8192\nworkers=1\nrun=ab\nlog=cd\nordinal=3\nrevision=\n");
  LogFileHeader read;
  ASSERT_EQ(read.decode(header.encode()), "");
  EXPECT_EQ(read.ordinal, 3u);
  EXPECT_EQ(read.log, 0xcdu);
}

// Returns a header's block in which `to` replaces `from`, with the right checksum.
std::vector<std::byte> changed_block(const std::string& from, const std::string& to) {
  LogFileHeader header;
  header.run = 7;
  const std::vector<std::byte> block = header.encode();
  std::string lines(reinterpret_cast<const char*>(block.data()), block.size());
  lines = lines.substr(0, lines.find("\nend ") + 1);
  lines.replace(lines.find(from), from.size(), to);
  std::ostringstream text;
  text << lines << "end " << std::hex << XXH3_64bits(lines.data(), lines.size()) << "\n";
  std::vector<std::byte> changed(kLogHeaderBytes);
  std::memcpy(changed.data(), text.str().data(), text.str().size());
  return changed;
}

TEST(LogFileHeader, AnotherVersionIsRefused) {
  LogFileHeader read;
  EXPECT_EQ(read.decode(changed_block("log 4\n", "log 4\n")), "");
  for (const char* version : {"log 3\n", "log 5\n", "log 44\n"}) {
    EXPECT_EQ(read.decode(changed_block("log 4\n", version)),
              "it does not start with \"logjam log 4\"");
  }
}

TEST(LogFileHeader, UnknownKeysAndImpossibleNumbersAreRefused) {
  LogFileHeader read;
  EXPECT_EQ(read.decode(changed_block("workers=", "walkers=")),
            "its header has the unknown key \"walkers\"");
  for (const char* line : {"workers=x\n", "workers=-1\n", "workers=\n", "workers=4294967296\n",
                           "stripe_bytes=0\n", "segment_bytes=100\n", "ordinal=0\n", "run=g\n"}) {
    EXPECT_EQ(read.decode(changed_block("workers=1\n", line)),
              "a number in its header cannot be read")
        << line;
  }
  EXPECT_EQ(read.decode(changed_block("stripe=0\n", "stripe=1\n")),
            "its header counts its stripes wrongly");
  EXPECT_EQ(read.decode(changed_block("streams=1\n", "streams=0\n")),
            "its header counts no stream");
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

TEST(StoredSdl, IsReadForItsOwnRunOnlyAndTheHeaderStaysReadable) {
  LogFileHeader header;
  header.run = 7;
  std::vector<std::byte> block = header.encode();
  EXPECT_EQ(stored_sdl(block, 7), 0u) << "none is stored";
  put_stored_sdl(block, 7, 12345);
  put_stored_sdl(block, 7, 123456);
  EXPECT_EQ(stored_sdl(block, 7), 123456u);
  EXPECT_EQ(stored_sdl(block, 8), 0u) << "another run's";
  LogFileHeader read;
  EXPECT_EQ(read.decode(block), "");
  for (uint64_t bit = 0; bit < 8 * kStoredSdlBytes; ++bit) {
    std::vector<std::byte> flipped = block;
    flipped[kLogHeaderBytes - kStoredSdlBytes + bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_EQ(stored_sdl(flipped, 7), 0u) << bit;
  }
}

TEST(StoredSdl, HasRoomBesideTheLongestHeader) {
  LogFileHeader header;
  const std::vector<std::byte> block = header.encode();
  const auto text = static_cast<uint64_t>(std::ranges::find(block, std::byte{0}) - block.begin());
  const uint64_t line = std::string("flag.long=\n").size();
  header.flags["long"] = std::string(kLogHeaderBytes - kStoredSdlBytes - text - line, 'x');
  std::vector<std::byte> full = header.encode();
  put_stored_sdl(full, 0, 1);
  LogFileHeader read;
  EXPECT_EQ(read.decode(full), "");
  header.flags["long"] += 'x';
  EXPECT_REFUSED(header.encode(), "the flags to be stored in the log's");
}

}  // namespace
}  // namespace logjam
