// Adding a log scheme costs one file. A scheme with a flag of its own is put into a copy of the
// source tree, whose other files stay as they are. The program built there lists it, checks its
// flag, runs it, and survives kill -9.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/proof/crash_round.h"
#include "tests/shell.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

constexpr char kScheme[] = R"scheme(// `spin`: `centr` with a latch that pauses between its tries.
#include <gflags/gflags.h>

#include "logging/flag_checks.h"
#include "logging/schemes/common/single_stream_scheme.h"
#include "logging/scheme_registry.h"
#include "platform/spin.h"

DEFINE_uint32(spin_pauses, 10, "pauses between two tries at the latch");

namespace logjam {
namespace {

class Spin final : public SingleStreamScheme {
 public:
  explicit Spin(const LogConfig& config) : SingleStreamScheme(config) {}

  LogReservation reserve(uint32_t, const Dependencies&, uint32_t bytes) override {
    while (!latch_.try_lock()) {
      for (uint32_t i = 0; i < FLAGS_spin_pauses; ++i) platform::pause();
      platform::yield();
    }
    const uint64_t begin = sbl_.load(platform::memory_order_relaxed);
    const uint64_t waited = stream().wait_for_space(begin + bytes);
    return reservation(begin, bytes, waited);
  }
  CommitPoint publish(uint32_t, const LogReservation& reservation, RecordRole role) override {
    sbl_.store(reservation.sequence, platform::memory_order_release);
    latch_.unlock();
    stream().published(commits(role));
    return commit_point(reservation.sequence);
  }

 private:
  uint64_t sbl() const override { return sbl_.load(platform::memory_order_acquire); }

  platform::SpinLock latch_;
  platform::atomic<uint64_t> sbl_{0};
};

const SchemeRegistration registration({
    .name = "spin",
    .streams = "1",
    .buffer = "one latch around acquire, fill, release",
    .sequence = "byte offset (LSN)",
    .flushed_by = "leader or daemon",
    .safe_when = "LSN <= durable",
    .cut = "first gap",
    .source = "a test",
    .recovery = first_gap(),
    .stream_count = one_stream,
    .construct = construct<Spin>,
    .check_flags = [] { return check_range("spin_pauses", FLAGS_spin_pauses, 1, 1000); },
});

}  // namespace
}  // namespace logjam
)scheme";

// The program that `make` builds from a copy of the tree with the scheme in it; empty if that
// fails. The copy keeps the objects that are built already, so one file is compiled.
std::string build_with_scheme(const TemporaryDirectory& tree) {
  namespace fs = std::filesystem;
  const char* given = std::getenv("LOGJAM");
  const std::string build = fs::path(given == nullptr ? "build/logjam" : given).parent_path();
  const std::string name = fs::path(build).filename();
  const Ended copied =
      shell("cp -a Makefile platform sim logging engine cc workloads proof cli '" + tree.path() +
            "' && mkdir '" + tree.path_of(name) + "' && cd '" + build +
            "' && cp -a platform sim logging engine cc workloads proof cli '" + tree.path_of(name) +
            "' 2>&1");
  EXPECT_EQ(copied.status, 0) << copied.output;
  std::ofstream(tree.path_of("logging/schemes/spin.cc")) << kScheme;
  // build-thread is what SAN=thread built; another name was given to make.
  const std::string suffix = name.substr(std::min(name.find('-') + 1, name.size()));
  const bool sanitized = suffix == "thread" || suffix == "address" || suffix == "undefined";
  const std::string made_by = sanitized ? " SAN=" + suffix : " BUILD=" + name;
  const Ended built = shell("make --no-print-directory -C '" + tree.path() + "' " + name +
                            "/logjam" + made_by + " 2>&1");
  EXPECT_EQ(built.status, 0) << built.output;
  return built.status == 0 ? tree.path_of(name) + "/logjam" : "";
}

TEST(CrashOfAnAddedScheme, OneFileIsListedCheckedRunKilledAndRecovered) {
  const TemporaryDirectory tree;
  const std::string program = build_with_scheme(tree);
  ASSERT_NE(program, "");

  EXPECT_NE(shell("'" + program + "' list schemes").output.find("\nspin "), std::string::npos);
  EXPECT_NE(shell("'" + program + "' run --help=all").output.find("--spin_pauses=10"),
            std::string::npos);
  const Ended refused =
      shell("'" + program + "' run --log=spin --spin_pauses=0 --device=null 2>&1");
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.output, "logjam: --spin_pauses=0 is outside 1 to 1000\n");

  // A round of `centr`, in which the kill comes from outside, with the scheme changed.
  CrashRound round;
  for (uint64_t seed = 0; round.scheme != "centr" || round.ends_by_itself; ++seed) {
    round = derive_round(seed);
  }
  round.scheme = "spin";
  round.run_flags.insert(round.run_flags.end(), {"--log=spin", "--spin_pauses=3"});
  const CrashResult result = play(round, program);
  EXPECT_TRUE(result.passed) << result.commands << result.report;
  EXPECT_GT(result.acknowledged, 0u) << result.commands << result.report;
}

}  // namespace
}  // namespace logjam
