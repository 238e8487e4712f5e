// The files of a log, for each kind of scheme: one file for each stream, or for each stripe.
#include <gtest/gtest.h>

#include "logging/log.h"

namespace logjam {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

LogOptions options(const char* scheme, std::vector<std::string> directories,
                   const char* device = "file") {
  LogOptions options;
  options.scheme = find_scheme(scheme);
  options.directories = std::move(directories);
  options.device = device;
  options.config.workers = 3;
  return options;
}

TEST(LogLayout, OneStreamIsStripedOverAllDirectories) {
  const LogLayout layout = layout_of(options("centr", {"/a", "/b"}));
  EXPECT_EQ(layout.why_not, "");
  EXPECT_EQ(layout.streams, 1u);
  EXPECT_EQ(layout.stripes, 2u);
  EXPECT_TRUE(layout.has_files);
  const std::vector<std::string> paths = {"/a/stream-0.log.db", "/b/stream-0.log.db"};
  EXPECT_EQ(log_file_paths({"/a", "/b"}, layout.streams, layout.stripes), paths);
}

TEST(LogLayout, EachOfSeveralStreamsIsInOneDirectory) {
  const LogLayout layout = layout_of(options("pwal", {"/a", "/b"}));
  EXPECT_EQ(layout.streams, 3u);
  EXPECT_EQ(layout.stripes, 1u);
  const std::vector<std::string> paths = {"/a/stream-0.log.db", "/b/stream-1.log.db",
                                          "/a/stream-2.log.db"};
  EXPECT_EQ(log_file_paths({"/a", "/b"}, layout.streams, layout.stripes), paths);
}

TEST(LogLayout, TheStripesShareWhatIsPreallocated) {
  LogOptions wanted = options("centr", {"/a", "/b"});
  wanted.preallocate_bytes = 64 * kMiB;
  const LogLayout layout = layout_of(wanted);
  EXPECT_EQ(layout.preallocate_bytes, 32 * kMiB);
  EXPECT_EQ(layout.segment_bytes, 8 * kMiB);
  wanted.segment_bytes = 4 * kMiB;
  EXPECT_EQ(layout_of(wanted).segment_bytes, 4 * kMiB);
  wanted.preallocate_bytes = 0;
  EXPECT_EQ(layout_of(wanted).segment_bytes, 0u) << "nothing is preallocated";
}

TEST(LogLayout, ADeviceThatKeepsNothingHasNoFiles) {
  const LogLayout layout = layout_of(options("pwal", {}, "null"));
  EXPECT_EQ(layout.why_not, "");
  EXPECT_EQ(layout.files(), 3u);
  EXPECT_FALSE(layout.has_files);
  EXPECT_EQ(layout_of(options("none", {})).streams, 0u);
}

TEST(LogLayout, SaysWhyALogCannotBeLaidOut) {
  EXPECT_EQ(layout_of(options("centr", {})).why_not, "--log=centr needs --wal_dir");
  EXPECT_EQ(layout_of(options("pwal", {"/a", "/b", "/c", "/d"})).why_not,
            "--log=pwal writes 3 stream(s), not striped: name no more log directories than that");
  EXPECT_NE(layout_of(options("scm", {"/a"})).why_not, "") << "it needs memory";
}

}  // namespace
}  // namespace logjam
