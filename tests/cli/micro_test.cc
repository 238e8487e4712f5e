#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

#include "cli/commands.h"
#include "tests/shell.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

// Returns the values of a short run by column. Stops at the first quoted cell of the row.
std::map<std::string, std::string> row_of(const std::string& flags) {
  const TemporaryDirectory directory;
  const std::string csv = directory.path_of("rows.csv");
  const Ended ended = shell(
      "\"$LOGJAM\" micro --device=discard --threads=4 --transactions=500 --log_buffer_mb=1 "
      "--seconds=3600 --record_bytes=48 --csv=" +
      csv + " " + flags + " >/dev/null && cat " + csv);
  EXPECT_EQ(ended.status, 0) << flags;
  std::istringstream lines(ended.output);
  std::string header, row;
  std::getline(lines, header);
  std::getline(lines, row);
  std::istringstream names(header), values(row);
  std::map<std::string, std::string> columns;
  for (std::string name, value;
       std::getline(names, name, ',') && std::getline(values, value, ',') && value[0] != '"';) {
    columns[name] = value;
  }
  EXPECT_EQ(columns["inserts"], "2000") << ended.output;
  EXPECT_EQ(columns["least_inserts"] + ", " + columns["most_inserts"], "500, 500");
  return columns;
}

// In the column `groups_per_insert`, an insert that finds the log's lock free counts as a group.
TEST(Micro, GroupsPerInsertFollowFromTheSizesOfGroups) {
  auto row = row_of("--log=aether-c");
  const double share = std::stod(row["consolidated_pct"]) / 100;
  const std::string& size = row["mean_group_size"];  // empty if no group was formed
  const double groups = size.empty() ? 0 : share / std::stod(size);
  EXPECT_NEAR(std::stod(row["groups_per_insert"]), 1 - share + groups, 0.01);

  row = row_of("--log=aether-c --test=aether_force:1");
  EXPECT_EQ(row["consolidated_pct"], "100.00");
  EXPECT_NEAR(std::stod(row["groups_per_insert"]) * std::stod(row["mean_group_size"]), 1, 0.02);
}

TEST(Micro, OnlyConsolidatingSchemesHaveGroups) {
  EXPECT_EQ(row_of("--log=aether-d")["groups_per_insert"], "");
  EXPECT_EQ(row_of("--log=centr")["groups_per_insert"], "");
}

TEST(Micro, ARowNamesTheCoresOfItsWorkers) {
  const Ended ended = shell(R"(
core=$(python3 -c 'import os; print(min(os.sched_getaffinity(0)))')
for placement in compact:$core smt:$core none; do
  "$LOGJAM" micro --device=discard --threads=1 --transactions=10 --log_buffer_mb=1 \
    --placement=$placement 2>/dev/null |
    sed -n 's/^placement *//; s/socket [0-9]* core [0-9]*/its core/p; /^none/p'
done)");
  EXPECT_EQ(ended.output,
            "compact: worker 0 on its core\nsmt: worker 0 on its core\nnone: workers are not "
            "pinned\n");
}

TEST(Micro, ItsLogIsNotRecovered) {
  const TemporaryDirectory directory;
  const std::string log = " --wal_dir=" + directory.path();
  EXPECT_EQ(shell("\"$LOGJAM\" micro --log=centr --device=file --threads=1 --transactions=10 "
                  "--log_prealloc_mb=1 --seconds=3600" +
                  log + " >/dev/null 2>&1")
                .status,
            0);
  for (const char* command : {"recover", "run --continue --workload=tpcb --log=centr"}) {
    const Ended refused = shell("\"$LOGJAM\" " + std::string(command) + log + " 2>&1");
    EXPECT_EQ(refused.status, 2) << command;
    EXPECT_EQ(refused.output, "logjam: the log in " + directory.path() +
                                  " is of logjam micro: it holds no tables to recover\n");
  }
}

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
      "\"$LOGJAM\" micro --primitive=clh:4 --threads=3 --transactions=200 --seconds=3600 --csv=" +
      csv + " >/dev/null && cat " + csv);
  EXPECT_EQ(ended.status, 0);
  const std::string header =
      "primitive,lines,pause_ns,threads,placement,seconds,calls,calls_s,least_calls,most_calls,"
      "failed_pct,cpu_pct,revision,machine,sockets,governor,smt,flags\n";
  EXPECT_TRUE(ended.output.starts_with(header + "clh,4,0.0,3,")) << ended.output;
  EXPECT_NE(ended.output.find(",600,"), std::string::npos) << ended.output;
  EXPECT_NE(ended.output.find(",200,200,0.00,"), std::string::npos) << ended.output;
}

}  // namespace
}  // namespace logjam
