#include "cli/help.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace logjam {
namespace {

gflags::CommandLineFlagInfo flag(const char* name, const char* file) {
  gflags::CommandLineFlagInfo info{};
  info.name = name;
  info.type = "bool";
  info.description = "planted";
  info.default_value = info.current_value = "false";
  info.is_default = true;
  info.filename = file;
  return info;
}

TEST(Help, OwnFlagsComeInGroupsBeforeTheLibraries) {
  std::vector<gflags::CommandLineFlagInfo> flags = {
      flag("minloglevel", "./src/logging.cc"),
      flag("flagfile", "/build/gflags-x/gflags-2.2.2/src/gflags.cc"),
      flag("ycsb_ops", "workloads/ycsb/options.cc"),
      flag("cdf", "cli/micro.cc"),
      flag("new_knob", "logging/schemes/new_scheme.cc"),
      flag("paranoid", "engine/run/run.cc"),
      flag("threads", "cli/settings.cc"),
      flag("wal_dir", "cli/settings.cc"),
  };
  const std::string text = describe_flags(flags);
  size_t at = 0;
  for (const char* next :
       {"all commands (cli/settings.cc)\n", "-threads (planted)", "-wal_dir (planted)",
        "logjam micro (cli/micro.cc)\n", "-cdf ", "schemes (logging/schemes/new_scheme.cc)\n",
        "-new_knob ", "engine/run (engine/run/run.cc)\n", "-paranoid ",
        "workload ycsb (workloads/ycsb/options.cc)\n", "-ycsb_ops ", "library glog\n",
        "-minloglevel ", "library gflags\n", "-flagfile "}) {
    const size_t found = text.find(next, at);
    ASSERT_NE(found, std::string::npos) << next << " is not behind position " << at << "\n" << text;
    at = found;
  }
}

TEST(Help, EveryFlagIsShownOnceAndOnlyLibrariesAreUnknownFiles) {
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  const std::string text = describe_flags(flags);
  const size_t libraries = text.find("\nlibrary glog\n");
  ASSERT_NE(libraries, std::string::npos);
  for (const auto& each : flags) {
    const std::string line = "\n    -" + each.name + " (";
    const size_t at = text.find(line);
    ASSERT_NE(at, std::string::npos) << each.name;
    EXPECT_EQ(text.find(line, at + 1), std::string::npos) << each.name;
    const bool own = access(each.filename.c_str(), F_OK) == 0;
    EXPECT_EQ(at < libraries, own) << each.name << " of " << each.filename;
  }
}

}  // namespace
}  // namespace logjam
