#include "sim/machine/profile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "platform/fatal.h"
#include "sim/machine/machine.h"
#include "tests/command_error.h"
#include "tests/sim/small_machine.h"
#include "tests/temporary_directory.h"

namespace logjam::sim {
namespace {

constexpr const char* kWhole = R"(# A comment, and an empty line.

name = "A machine # 1"
ghz = 2.5  # measured: here
sockets = 2  # assumed
cores = 4  # assumed
contexts = 2  # assumed
interconnect = "full"
instructions_per_cycle = 2  # assumed
context_share = 0.6  # assumed
l1_kib = 32  # assumed
l1_ways = 8  # assumed
l2_kib = 256  # assumed
l2_ways = 8  # assumed
l2_cycles = 12  # assumed
l3_mib = 16  # assumed
l3_ways = 16  # assumed
l3_cycles = 45  # assumed
dirty_cycles = 110  # assumed
upgrade_cycles = 80  # assumed
hop_clean_cycles = 200  # assumed
hop_dirty_cycles = 280  # assumed
hop_upgrade_cycles = 250  # assumed
two_hop_clean_cycles = 300  # assumed
two_hop_dirty_cycles = 400  # assumed
two_hop_upgrade_cycles = 350  # assumed
memory_cycles = 220  # assumed
hop_memory_cycles = 330  # assumed
two_hop_memory_cycles = 420  # assumed
memory_gb_s = 40  # assumed
rmw_cycles = 20  # assumed
fence_cycles = 30  # assumed
pause_cycles = 41  # assumed
ticks_cycles = 23  # assumed
occupancy = 0.3  # assumed
store_buffer = 42  # assumed
overlap = 3  # assumed
stream_cycles = 20  # assumed
stream_store_cycles = 30  # assumed
l3_stream_cycles = 10  # assumed
lines_ahead = 2  # assumed
clock_ns = 25  # assumed
allocation_ns = 40  # assumed
syscall_ns = 150  # assumed
context_switch_ns = 1500  # assumed
futex_wait_ns = 900  # assumed
futex_wake_ns = 1200  # assumed
wake_latency_ns = 4000  # assumed
timer_late_ns = 5000  # assumed
time_slice_us = 3000  # assumed
write_back_ns = 60  # assumed
write_back_line_ns = 6  # assumed
)";

// Returns a regular expression that only this text matches.
std::string exactly(const std::string& text) {
  std::string pattern;
  for (const char one : text) {
    if (std::string(".[]{}()*+?^$|\\").find(one) != std::string::npos) pattern += '\\';
    pattern += one;
  }
  return pattern;
}

class ProfileReaderDeathTest : public testing::Test {
 protected:
  // Reads a profile from a file with this text.
  Profile read(const std::string& text, const std::string& changes = "") {
    const std::string path = directory_.path_of("mine.toml");
    std::ofstream(path) << text;
    return read_profile(path, changes);
  }
  // Returns the text of a whole file with `piece` replaced.
  static std::string with(const std::string& piece, const std::string& by) {
    std::string text = kWhole;
    const size_t at = text.find(piece);
    EXPECT_NE(at, std::string::npos) << piece;
    return text.replace(at, piece.size(), by);
  }
  // Expects that the process ends with exit status 2 and exactly this sentence.
  void expect_refusal(const std::string& text, const std::string& sentence,
                      const std::string& changes = "") {
    const std::string path = directory_.path_of("mine.toml");
    std::string whole = sentence;
    if (const size_t at = whole.find("FILE"); at != std::string::npos) whole.replace(at, 4, path);
    EXPECT_REFUSED(read(text, changes), "^" + exactly(whole) + "$");
  }

  TemporaryDirectory directory_;
};

TEST_F(ProfileReaderDeathTest, ReadsEveryNumber) {
  const Profile profile = read(kWhole);
  EXPECT_EQ(profile.file, "mine");
  EXPECT_EQ(profile.name, "A machine # 1");
  EXPECT_EQ(profile.interconnect, "full");
  EXPECT_EQ(profile.ghz, 2.5);
  EXPECT_EQ(profile.two_hop_upgrade_cycles, 350);
  EXPECT_EQ(profile.write_back_line_ns, 6);
}

TEST_F(ProfileReaderDeathTest, ReadsTheProfilesOfThisRepository) {
  const std::filesystem::path folder = "config/machines";
  size_t read = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".toml") continue;
    const Machine machine = make_machine(read_profile(file.path(), ""), 0, 1);
    EXPECT_EQ(machine.profile.file, file.path().stem());
    EXPECT_GE(machine.contexts, 2U);
    ++read;
  }
  EXPECT_GE(read, 8U);
}

TEST_F(ProfileReaderDeathTest, NumbersCanBeReplaced) {
  const Profile profile = read(kWhole, "l2_kib=0,ghz=3.5");
  EXPECT_EQ(profile.l2_kib, 0);
  EXPECT_EQ(profile.ghz, 3.5);
  EXPECT_EQ(profile.l1_kib, 32);
}

TEST_F(ProfileReaderDeathTest, AMissingFileIsNamed) {
  EXPECT_REFUSED(read_profile("/nowhere/x.toml", ""),
                 "^--machine=/nowhere/x.toml: there is no file /nowhere/x.toml$");
}

TEST_F(ProfileReaderDeathTest, AMissingKeyIsNamed) {
  expect_refusal(with("rmw_cycles = 20  # assumed\n", ""), "FILE has no key rmw_cycles");
  expect_refusal(with("name = \"A machine # 1\"\n", ""), "FILE has no name");
  expect_refusal(with("interconnect = \"full\"\n", ""),
                 "FILE: interconnect is \"full\" or \"square\"");
}

std::string without(std::string text, const std::string& keys) {
  std::istringstream list(keys);
  for (std::string key; list >> key;) {
    const size_t at = text.find("\n" + key + " = ") + 1;
    EXPECT_NE(at, 0U) << key;
    text.erase(at, text.find('\n', at) + 1 - at);
  }
  return text;
}

TEST_F(ProfileReaderDeathTest, AMachineWithoutAPrefetcherNeedNotSaySo) {
  const Profile profile = read(without(
      kWhole, "stream_cycles stream_store_cycles l3_stream_cycles lines_ahead write_back_line_ns"));
  EXPECT_EQ(profile.stream_cycles, 220);
  EXPECT_EQ(profile.stream_store_cycles, 220);
  EXPECT_EQ(profile.l3_stream_cycles, 45);
  EXPECT_EQ(profile.lines_ahead, 0);
  EXPECT_EQ(profile.write_back_line_ns, 60);
  EXPECT_EQ(profile.look_ahead_ns, 0) << "the order is exact unless somebody asks for less";
}

TEST_F(ProfileReaderDeathTest, AMachineNeedNotPriceWhatItDoesNotHave) {
  const std::string hops =
      "hop_clean_cycles hop_dirty_cycles hop_upgrade_cycles hop_memory_cycles ";
  const std::string two_hops =
      "two_hop_clean_cycles two_hop_dirty_cycles two_hop_upgrade_cycles two_hop_memory_cycles";
  const std::string small = without(kWhole, hops + two_hops + " context_share l2_ways l2_cycles");
  const Profile profile = read(small, "sockets=1,contexts=1,l2_kib=0");
  EXPECT_EQ(profile.context_share, 1);
  EXPECT_EQ(profile.l2_ways, 1);
  EXPECT_EQ(profile.l2_cycles, 0);
  EXPECT_EQ(profile.two_hop_clean_cycles, 45);
  EXPECT_EQ(profile.two_hop_dirty_cycles, 110);
  EXPECT_EQ(profile.two_hop_upgrade_cycles, 80);
  EXPECT_EQ(profile.two_hop_memory_cycles, 220);
  EXPECT_EQ(read(without(kWhole, two_hops), "sockets=8").two_hop_memory_cycles, 330);
  expect_refusal(small, "FILE has no key context_share", "sockets=1,l2_kib=0");
  expect_refusal(small, "FILE has no key l2_ways", "sockets=1,contexts=1");
  expect_refusal(small, "FILE has no key hop_clean_cycles", "contexts=1,l2_kib=0");
  const std::string square = with("\"full\"", "\"square\"");
  expect_refusal(without(square, two_hops), "FILE has no key two_hop_clean_cycles", "sockets=4");
}

TEST_F(ProfileReaderDeathTest, ASocketIsOneComplexOrHasPricesBetweenThem) {
  const Profile profile = read(kWhole);
  EXPECT_EQ(profile.complexes, 1);
  EXPECT_EQ(profile.complex_clean_cycles, 45);
  EXPECT_EQ(profile.complex_dirty_cycles, 110);
  EXPECT_EQ(profile.complex_upgrade_cycles, 80);
  expect_refusal(kWhole, "FILE has no key complex_clean_cycles", "complexes=2");
  const std::string prices =
      ",complex_clean_cycles=1,complex_dirty_cycles=1,complex_upgrade_cycles=1";
  const auto machine = [&](const std::string& changes) {
    return make_machine(read(kWhole, changes + prices), 0, 1);
  };
  EXPECT_EQ(machine("complexes=2").complex_of(5), 2U);
  EXPECT_REFUSED(machine("complexes=3"),
                 "^A machine # 1: a socket's 4 cores do not make 3 complexes of one size$");
  EXPECT_REFUSED(machine("sockets=5,cores=8,complexes=8"),
                 "^A machine # 1 has more than 32 shared caches, which is the most that is "
                 "simulated$");
}

TEST_F(ProfileReaderDeathTest, FarAtomicsNeedASharedCache) {
  EXPECT_EQ(read(kWhole).far_atomic_cycles, 0);
  EXPECT_REFUSED(make_machine(read(kWhole, "far_atomic_cycles=10,l3_mib=0"), 0, 1),
                 "^A machine # 1: far_atomic_cycles: there is no shared cache .l3_mib.$");
}

TEST_F(ProfileReaderDeathTest, AnUnknownKeyIsNamed) {
  expect_refusal(with("sockets = 2", "socket = 2"),
                 "FILE:5: \"socket\" is not a key of a machine's profile");
}

TEST_F(ProfileReaderDeathTest, AKeyComesOnce) {
  expect_refusal(with("cores = 4  # assumed\n", "sockets = 4  # assumed\n"),
                 "FILE:6: sockets comes twice");
  expect_refusal(with("ghz", "name = \"another\"\nghz"), "FILE:4: name comes twice");
}

TEST_F(ProfileReaderDeathTest, ANumberWithoutASourceIsRefused) {
  const std::string sentence = "FILE:4: ghz has no source after it (\"# source\")";
  expect_refusal(with("ghz = 2.5  # measured: here", "ghz = 2.5"), sentence);
  expect_refusal(with("ghz = 2.5  # measured: here", "ghz = 2.5  # "), sentence);
}

TEST_F(ProfileReaderDeathTest, ANumberOutOfRangeIsRefused) {
  expect_refusal(with("occupancy = 0.3", "occupancy = 1.5"),
                 "FILE:35: occupancy is between 0 and 1, not 1.5");
  expect_refusal(with("occupancy = 0.3", "occupancy = -0.1"),
                 "FILE:35: occupancy is between 0 and 1, not -0.1");
  expect_refusal(with("ghz = 2.5", "ghz = nan"), "FILE:4: ghz is between 0.1 and 10, not nan");
  expect_refusal(with("ghz = 2.5", "ghz = 2.5x"), "FILE:4: ghz is a number, not \"2.5x\"");
  expect_refusal(with("ghz = 2.5", "ghz ="), "FILE:4: ghz is a number, not \"\"");
  expect_refusal(with("ghz = 2.5", "ghz 2.5"), "FILE:4: a line is \"key = value  # source\"");
}

TEST_F(ProfileReaderDeathTest, ANameEndsWithItsQuotationMark) {
  const Profile profile = read(with("\"A machine # 1\"", "\"a # b\"  # the \"best\""));
  EXPECT_EQ(profile.name, "a # b");
}

TEST_F(ProfileReaderDeathTest, ACountIsAWholeNumber) {
  expect_refusal(with("cores = 4", "cores = 2.5"), "FILE:6: cores is a whole number, not 2.5");
  expect_refusal(kWhole, "--set: l1_ways is a whole number, not 8.5", "l1_ways=8.5");
}

TEST_F(ProfileReaderDeathTest, AReplacedNumberIsCheckedToo) {
  expect_refusal(kWhole, "--set: \"l9_kib\" is not a key of a machine's profile", "l9_kib=1");
  expect_refusal(kWhole, "--set: ghz is between 0.1 and 10, not 11", "overlap=2,ghz=11");
  expect_refusal(kWhole, "--set: ghz is a number, not \"\"", "ghz");
  expect_refusal(kWhole, "--set: \"name\" is not a key of a machine's profile", "name=x");
}

TEST_F(ProfileReaderDeathTest, AMachineThatCannotBeSimulatedIsRefused) {
  EXPECT_REFUSED(make_machine(read(kWhole), 17, 1),
                 "^--cores=17: A machine # 1 has 16 hardware contexts$");
  EXPECT_REFUSED(make_machine(read(kWhole, "sockets=8,cores=33"), 0, 1),
                 "^A machine # 1 has more than 256 cores, which is the most that is "
                 "simulated$");
  EXPECT_REFUSED(make_machine(read(kWhole, "l1_kib=1,l1_ways=64"), 0, 1),
                 "^A machine # 1: the l1 cache has no room for one set of 64 lines$");
}

TEST_F(ProfileReaderDeathTest, ContextsAreCountedThroughTheCoresOfASocketThenTheNextThenSiblings) {
  const Machine machine = make_machine(read(kWhole), 0, 1);
  EXPECT_EQ(machine.contexts, 16U);
  EXPECT_EQ(machine.sockets, 2U);
  EXPECT_EQ(machine.socket_of(3), 0U);
  EXPECT_EQ(machine.socket_of(4), 1U);
  EXPECT_EQ(machine.core_of(11), 3U);
  EXPECT_EQ(machine.socket_of(11), 0U);
  EXPECT_EQ(make_machine(read(kWhole), 4, 1).sockets, 1U);
}

TEST_F(ProfileReaderDeathTest, ASquareHasTwoHopsAcross) {
  const Machine square = make_machine(small_profile(), 0, 1);
  EXPECT_EQ(square.distance(2, 2), kSameComplex);
  EXPECT_EQ(square.distance(0, 1), kOneHop);
  EXPECT_EQ(square.distance(0, 2), kOneHop);
  EXPECT_EQ(square.distance(3, 0), kTwoHops);
  EXPECT_EQ(square.distance(1, 2), kTwoHops);
  Profile full = small_profile();
  full.interconnect = "full";
  EXPECT_EQ(make_machine(full, 0, 1).distance(3, 0), kOneHop);
}

}  // namespace
}  // namespace logjam::sim
