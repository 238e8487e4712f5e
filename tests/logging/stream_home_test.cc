// A stream's home is the socket of its workers. The stream's flusher and ring are there, too.
#include "logging/stream/stream_home.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "logging/log.h"
#include "platform/clock.h"
#include "platform/text.h"
#include "tests/logging/log_fixture.h"
#include "tests/logging/watchdog.h"
#include "tests/with_placement.h"

namespace logjam {
namespace {

using platform::kEveryNode;
using platform::kNoSocket;
using platform::PlacementPolicy;

constexpr const char* kFourSockets = "pack:4 numa:1 core:4 pu:1";

LogConfig config_of(uint32_t workers, uint32_t streams) {
  LogConfig config;
  config.workers = workers;
  config.sockets = static_cast<uint32_t>(platform::socket_count());
  config.devices.resize(streams);
  return config;
}

std::string homes(const LogConfig& config, Writers writers) {
  std::string text;
  for (uint32_t stream = 0; stream < config.devices.size() / config.stripes; ++stream) {
    const StreamHome home = home_of(config, stream, writers);
    platform::append_part(&text, " ",
                          (home.socket == kNoSocket ? "-" : std::to_string(home.socket)) + "." +
                              (home.node == kEveryNode ? "-" : std::to_string(home.node)));
  }
  return text;
}

TEST(StreamHome, AWorkersOwnStreamIsWhereTheWorkerIs) {
  const WithPlacement scatter(kFourSockets, PlacementPolicy::kScatter, 6);
  EXPECT_EQ(homes(config_of(6, 6), Writers::kDealt), "0.0 1.1 2.2 3.3 0.0 1.1");
  // The stream of watermarks belongs to no worker, so it has no home.
  EXPECT_EQ(homes(config_of(6, 7), Writers::kDealt), "0.0 1.1 2.2 3.3 0.0 1.1 -.-");
}

TEST(StreamHome, SaysHowManyWorkersWrite) {
  LogConfig config = config_of(6, 4);
  EXPECT_EQ(home_of(config, 0, Writers::kDealt).writers, 2);
  EXPECT_EQ(home_of(config, 3, Writers::kDealt).writers, 1);
  EXPECT_EQ(home_of(config, 3, Writers::kAll).writers, 6);
  EXPECT_EQ(home_of(config_of(6, 7), 6, Writers::kDealt).writers, 6) << "of the watermarks";
  config.pinned_workers = false;
  EXPECT_EQ(home_of(config, 0, Writers::kDealt).writers, 2);
  config.sockets = 4;
  config.workers = 1;
  EXPECT_EQ(home_of(config, 0, Writers::kOfSocket).writers, 1);
  EXPECT_EQ(home_of(config, 3, Writers::kOfSocket).writers, 0) << "of a socket without workers";
}

TEST(StreamHome, AStreamOfSeveralSocketsIsInterleavedAndItsFlusherIsFree) {
  const WithPlacement compact(kFourSockets, PlacementPolicy::kCompact, 8);
  EXPECT_EQ(homes(config_of(8, 1), Writers::kDealt), "-.-");
  EXPECT_EQ(homes(config_of(4, 1), Writers::kDealt), "0.0") << "all workers are on socket 0";
  EXPECT_EQ(homes(config_of(8, 2), Writers::kAll), "-.- -.-");
  EXPECT_EQ(homes(config_of(6, 2), Writers::kDealt), "0.0 -.-")
      << "workers 4 and 5 are on socket 1";
}

TEST(StreamHome, WorkersOfAStreamAreNearEachOther) {
  for (const auto policy : platform::kPlacementPolicies) {
    const WithPlacement placed(kFourSockets, policy, 16);
    EXPECT_EQ(homes(config_of(16, 4), Writers::kDealt), "0.0 1.1 2.2 3.3");
    EXPECT_EQ(homes(config_of(16, 8), Writers::kDealt), "0.0 0.0 1.1 1.1 2.2 2.2 3.3 3.3");
  }
  LogConfig config = config_of(5, 2);
  EXPECT_EQ(streams_of_workers(config, 2), (std::vector<uint32_t>{0, 0, 0, 1, 1}));
  EXPECT_EQ(streams_of_workers(config, 7), (std::vector<uint32_t>{0, 1, 2, 3, 4}));
  config.pinned_workers = false;
  EXPECT_EQ(streams_of_workers(config, 2), (std::vector<uint32_t>{0, 1, 0, 1, 0}));
}

TEST(StreamHome, TheStreamOfASocketIsThere) {
  for (const auto policy : platform::kPlacementPolicies) {
    const WithPlacement placed(kFourSockets, policy, 16);
    EXPECT_EQ(homes(config_of(16, 4), Writers::kOfSocket), "0.0 1.1 2.2 3.3");
  }
  const WithPlacement several_nodes("pack:2 numa:2 core:2 pu:1", PlacementPolicy::kCompact, 4);
  EXPECT_EQ(homes(config_of(4, 1), Writers::kDealt), "0.-");
  EXPECT_EQ(homes(config_of(4, 4), Writers::kDealt), "0.0 0.0 0.1 0.1");
}

TEST(StreamHome, StripesBelongToTheirStreamAndWorkersThatAreNotPinnedHaveNoHome) {
  const WithPlacement scatter(kFourSockets, PlacementPolicy::kScatter, 4);
  LogConfig config = config_of(4, 4);
  config.stripes = 4;
  EXPECT_EQ(homes(config, Writers::kDealt), "-.-");
  config.stripes = 1;
  config.pinned_workers = false;
  EXPECT_EQ(homes(config, Writers::kDealt), "-.- -.- -.- -.-");
}

TEST(StreamHome, ADirectoryBelongsToTheSocketOfAllItsStreams) {
  const WithPlacement scatter(kFourSockets, PlacementPolicy::kScatter, 6);
  const LogDirectory directory;
  LogOptions options = log_options(*find_scheme("pwal"), directory, "sim:0", 6);
  const auto of_directories = [&](uint32_t count) {
    options.directories.clear();
    for (uint32_t i = 0; i < count; ++i) {
      options.directories.push_back(directory.path() + "/" + std::to_string(count) + "-" +
                                    std::to_string(i));
    }
    const Log log(options);
    std::string text;
    for (uint32_t i = 0; i < count; ++i) {
      const int socket = log.socket_of_directory(i);
      text += (i == 0 ? "" : " ") + (socket == kNoSocket ? "-" : std::to_string(socket));
    }
    return text;
  };
  EXPECT_EQ(of_directories(6), "0 1 2 3 0 1");
  EXPECT_EQ(of_directories(4), "0 1 2 3") << "streams 0 and 4 lie in directory 0";
  EXPECT_EQ(of_directories(3), "- - -") << "streams 0 and 3 do";
}

// Returns the allowed cores of each thread of this process whose name begins with "log-".
std::map<std::string, std::string> cores_of_flushers() {
  std::map<std::string, std::string> cores;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(thread.path() / "status");
    std::string name, line;
    for (; std::getline(status, line);) {
      const std::string value = line.substr(std::min(line.find('\t') + 1, line.size()));
      if (line.starts_with("Name:")) name = value;
      if (line.starts_with("Cpus_allowed_list:") && name.starts_with("log-")) cores[name] = value;
    }
  }
  return cores;
}

// In the simulated placement, core 0 is socket 0 and core 1 is socket 1.
TEST(StreamHome, AFlusherKeepsToTheSocketOfItsStream) {
  auto allowed = platform::allowed_cores();
  std::ranges::sort(allowed);
  if (!std::ranges::includes(allowed, std::vector{0, 1})) GTEST_SKIP() << "needs cores 0 and 1";
  const WithPlacement compact("pack:2 numa:1 core:1 pu:1", PlacementPolicy::kCompact, 2);
  platform::Placement placed = platform::placement();
  placed.begin_at(1);  // worker 0 is on socket 1
  platform::use_placement(placed);
  const std::string everywhere = platform::ranges_of(allowed);
  const Watchdog watchdog("a flusher does not begin, or may run on every core");
  const LogDirectory directory;
  using Cores = std::map<std::string, std::string>;
  const auto flushers = [&](std::string_view scheme) {
    LogOptions options = log_options(*find_scheme(scheme), directory, "null", 2);
    options.config.sockets = 2;
    Log log(options);
    log.start();
    Cores cores;
    // A new thread gets its name before it is bound to cores.
    while (true) {
      cores = cores_of_flushers();
      const auto free = std::ranges::count(cores, everywhere, &Cores::value_type::second);
      if (cores.size() == log.scheme().flushers() && free == 0) return cores;
      platform::sleep_ns(1'000'000);
    }
  };
  EXPECT_EQ(flushers("dlog-s"), (Cores{{"log-0", "0"}, {"log-1", "1"}}));
  EXPECT_EQ(flushers("pwal"), (Cores{{"log-0", "1"}, {"log-1", "0"}}));
}

}  // namespace
}  // namespace logjam
