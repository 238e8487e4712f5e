#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "cli/flags.h"
#include "platform/fatal.h"
#include "tests/scoped_flags.h"

DEFINE_bool(planted, false, "a flag that belongs to no command");

namespace logjam {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Flags, EachBelongsToACommand) {
  std::vector<std::string> without;
  for (const auto& flag : own_flags()) {
    if (commands_of(flag) == 0) without.push_back(flag.name);
  }
  EXPECT_EQ(without, std::vector<std::string>{"planted"});
}

// The limit was 90 until --sync, --topology and --log_parts came, and 92 until SmallBank, traces
// and loads that move brought eight.
TEST(Flags, ThereAreAtMostAHundred) {
  const auto flags = own_flags();
  EXPECT_LE(std::ranges::count_if(
                flags, [](const auto& flag) { return !flag.filename.starts_with("tests/"); }),
            100);
}

TEST(FieldWords, MeanFlagsThatExist) {
  for (const FieldWords& each : field_words()) {
    gflags::CommandLineFlagInfo info;
    const std::string name(each.flag.substr(0, each.flag.find('=')));
    EXPECT_TRUE(gflags::GetCommandLineFlagInfo(name.c_str(), &info)) << name;
  }
}

TEST(Flags, BelongToTheCommandsThatReadThem) {
  const auto commands = [](const char* name) {
    return commands_of(gflags::GetCommandLineFlagInfoOrDie(name));
  };
  EXPECT_EQ(commands("silo_epoch_ms"), kRun | kMicro | kList | kExplore);
  EXPECT_EQ(commands("ack"), kRun | kMicro | kList | kRecover | kExplore)
      << "a log's header stores it";
  EXPECT_EQ(commands("tpcc_mix"), kRun | kExplore);
  EXPECT_EQ(commands("tpcc_warehouses"), kRun | kRecover | kExplore);
  EXPECT_EQ(commands("vmodule"), kAllCommands);
}

TEST(Flags, OfLibrariesAndSchemesAreNotMisplaced) {
  ScopedFlags flags;
  for (const auto& [name, value] :
       {std::pair("silo_epoch_ms", "5"), {"tpcc_mix", "np"}, {"v", "1"}}) {
    flags.set(name, std::string(value));
  }
  refuse_misplaced_flags(kRun);
}

// The golden file has the overview, and the most used flags of each command.
TEST(Help, IsTheTextOfTheGoldenFile) {
  std::string text = "$ logjam help\n" + overview();
  for (const CommandInfo& each : all_commands()) {
    if (each.command == kHelp) continue;
    const std::string help = help_of(each.command);
    EXPECT_LE(lines_of(help).size(), 30u) << each.name << ": more than a screen";
    text += "\n$ logjam " + std::string(each.name) + " --help\n" + help;
  }
  for (const std::string& line : lines_of(text)) EXPECT_LE(line.size(), 100u) << line;
  std::ifstream in("tests/golden/help.txt");
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(in), {}));
}

bool accepts(Commands command, const gflags::CommandLineFlagInfo& flag) {
  ScopedFlags flags;
  flags.set(flag.name.c_str(), flag.default_value);
  try {
    refuse_misplaced_flags(command);
  } catch (const platform::CommandError&) {
    return false;
  }
  return true;
}

TEST(Help, OfAllShowsEachFlagThatTheCommandAcceptsOnce) {
  for (const auto& [command, name, does, run] : all_commands()) {
    if (command == kHelp) continue;
    const std::string text = full_help_of(command);
    for (const std::string& line : lines_of(text)) EXPECT_LE(line.size(), 100u) << line;
    for (const auto& flag : own_flags()) {
      if (flag.name == "planted") continue;
      const bool shown = accepts(command, flag) && flag.name != "test";
      const std::string line = "\n  --" + flag.name + "=";
      const size_t at = text.find(line);
      EXPECT_EQ(at != std::string::npos, shown) << flag.name << " of " << names_of(command);
      if (!shown) continue;
      EXPECT_EQ(text.find(line, at + 1), std::string::npos) << flag.name;
    }
  }
}

TEST(Help, OfAllHasAHeadingForEachSchemeAndWorkload) {
  const std::string text = full_help_of(kRun);
  for (const char* heading :
       {"\nThe run\n  --workload=", "\nFlushing\n  --flush=", "\nWorkload ycsb\n  --ycsb_",
        "\nWorkload ledger\n  --ledger=", "\nLog scheme (logging/schemes/silo/silo.cc)\n"}) {
    EXPECT_TRUE(has(text, heading)) << heading;
  }
  EXPECT_TRUE(has(text, "\n  --flagfile="));
}

}  // namespace
}  // namespace logjam
