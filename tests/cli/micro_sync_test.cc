// `logjam micro --sync`: its row, and the forms of its flag.
#include <gtest/gtest.h>

#include "cli/commands.h"
#include "tests/shell.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

TEST(MicroSync, ReadsKindLinesAndPause) {
  sync::Options options;
  EXPECT_EQ(parse_sync("mcs", &options), "");
  EXPECT_EQ(options.kind, sync::Kind::kMcs);
  EXPECT_EQ(options.lines, 1u);
  EXPECT_EQ(options.pause_ns, 50) << "one line: long runs of one thread are prevented";
  EXPECT_EQ(parse_sync("faa:512", &options), "");
  EXPECT_EQ(options.kind, sync::Kind::kFaa);
  EXPECT_EQ(options.lines, 512u);
  EXPECT_EQ(options.pause_ns, 0);
  EXPECT_EQ(parse_sync("tas:4:120.5", &options), "");
  EXPECT_EQ(options.lines, 4u);
  EXPECT_EQ(options.pause_ns, 120.5);
}

TEST(MicroSync, RefusesOtherForms) {
  sync::Options options;
  const auto has = [&](const char* given, const char* part) {
    return parse_sync(given, &options).find(part) != std::string::npos;
  };
  EXPECT_TRUE(has("", "is not a kind; allowed are faa, cas, "));
  EXPECT_TRUE(has("mutex", "is not a kind"));
  for (const char* given : {"faa:", "faa:0", "faa:x", "faa:1048577", "faa:-1", "faa::1"}) {
    EXPECT_TRUE(has(given, "1 to 1048576 lines come after the first colon")) << given;
  }
  for (const char* given : {"faa:1:", "faa:1:x", "faa:1:-1", "faa:1:1:1", "faa:1:2e9"}) {
    EXPECT_TRUE(has(given, "a pause of 0 to 1e9 ns comes after the second colon")) << given;
  }
}

TEST(MicroSync, ARowHasTheCallsOfTheFastestAndTheSlowestThread) {
  const TemporaryDirectory directory;
  const std::string csv = directory.path_of("rows.csv");
  const Ended ended = shell(
      "\"$LOGJAM\" micro --sync=clh:4 --threads=3 --transactions=200 --seconds=3600 --csv=" + csv +
      " >/dev/null && cat " + csv);
  EXPECT_EQ(ended.status, 0);
  const std::string header =
      "sync,lines,pause_ns,threads,placement,seconds,calls,calls_s,least_calls,most_calls,"
      "failed_pct,cpu_pct,revision,machine,flags\n";
  EXPECT_TRUE(ended.output.starts_with(header + "clh,4,0.0,3,")) << ended.output;
  EXPECT_NE(ended.output.find(",600,"), std::string::npos) << ended.output;
  EXPECT_NE(ended.output.find(",200,200,0.00,"), std::string::npos) << ended.output;
}

}  // namespace
}  // namespace logjam
