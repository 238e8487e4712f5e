// The files that a log of each kind of scheme has: one for each stream, or for each stripe.
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

std::vector<std::string> paths(std::vector<std::pair<std::string, uint32_t>> files) {
  std::vector<std::string> paths;
  for (const auto& [directory, stream] : files) paths.push_back(log_file_path(directory, stream));
  return paths;
}

TEST(LogLayout, OneStreamIsStripedOverAllDirectories) {
  const LogLayout layout = layout_of(options("centr", {"/a", "/b"}));
  EXPECT_EQ(layout.why_not, "");
  EXPECT_EQ(layout.streams, 1u);
  EXPECT_EQ(layout.stripes, 2u);
  EXPECT_EQ(layout.paths, paths({{"/a", 0}, {"/b", 0}}));
}

TEST(LogLayout, EachOfSeveralStreamsIsInOneDirectory) {
  const LogLayout layout = layout_of(options("pwal", {"/a", "/b"}));
  EXPECT_EQ(layout.streams, 3u);
  EXPECT_EQ(layout.stripes, 1u);
  EXPECT_EQ(layout.paths, paths({{"/a", 0}, {"/b", 1}, {"/a", 2}}));
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
  EXPECT_EQ(layout.paths, std::vector<std::string>(3));
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
