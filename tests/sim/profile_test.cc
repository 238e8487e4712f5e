#include "sim/machine/profile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "platform/fatal.h"
#include "platform/files.h"
#include "sim/machine/machine.h"
#include "tests/command_error.h"
#include "tests/sim/small_machine.h"
#include "tests/temporary_directory.h"

namespace logjam::sim {
namespace {

// Returns the text of small_profile()'s file.
std::string whole() {
  std::string text;
  EXPECT_EQ(platform::read_file(kSmallProfile, &text), 0);
  return text;
}

// Returns the text of small_profile()'s file, with `piece` replaced by `by`.
std::string with(const std::string& piece, const std::string& by) {
  std::string text = whole();
  const size_t at = text.find(piece);
  EXPECT_NE(at, std::string::npos) << piece;
  return text.replace(at, piece.size(), by);
}

std::string without(const std::string& keys, std::string text = whole()) {
  std::istringstream list(keys);
  for (std::string key; list >> key;) {
    const size_t at = text.find("\n" + key + " = ") + 1;
    EXPECT_NE(at, 0U) << key;
    text.erase(at, text.find('\n', at) + 1 - at);
  }
  return text;
}

// Returns a regular expression that matches only `text`.
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
  Profile read(const std::string& text, const std::string& changes = "") {
    const std::string path = directory_.path_of("mine.toml");
    std::ofstream(path) << text;
    return read_profile(path, changes);
  }
  Machine machine(const std::string& changes, uint32_t contexts = 0) {
    return make_machine(read(whole(), changes), contexts, 1);
  }
  // Expects a refusal with exactly this sentence.
  template <class Function>
  void expect_sentence(const Function& function, std::string sentence) {
    const std::string path = directory_.path_of("mine.toml");
    if (const size_t at = sentence.find("FILE"); at != sentence.npos) sentence.replace(at, 4, path);
    EXPECT_REFUSED(function(), "^" + exactly(sentence) + "$");
  }
  void expect_refusal(const std::string& text, const std::string& sentence,
                      const std::string& changes = "") {
    expect_sentence([&] { read(text, changes); }, sentence);
  }

  TemporaryDirectory directory_;
};

TEST_F(ProfileReaderDeathTest, ReadsAndReplacesNumbers) {
  const Profile profile = read(whole(), "l2_kib=0,ghz=3.5");
  EXPECT_EQ(profile.file, "mine");
  EXPECT_EQ(profile.name, "A machine # 1");
  EXPECT_EQ(profile.interconnect, "square");
  EXPECT_EQ(profile.two_hop_upgrade_cycles, 350);
  EXPECT_EQ(profile.write_back_line_ns, 6);
  EXPECT_EQ(profile.l2_kib, 0);
  EXPECT_EQ(profile.ghz, 3.5);
  EXPECT_EQ(read(with("\"A machine # 1\"", "\"a # b\"  # the \"best\"")).name, "a # b");
}

TEST_F(ProfileReaderDeathTest, ReadsTheProfilesOfThisRepository) {
  size_t read = 0;
  for (const auto& file : std::filesystem::directory_iterator("config/machines")) {
    if (file.path().extension() != ".toml") continue;
    const Machine machine = make_machine(read_profile(file.path(), ""), 0, 1);
    EXPECT_EQ(machine.profile.file, file.path().stem());
    EXPECT_GE(machine.contexts, 2U);
    ++read;
  }
  EXPECT_GE(read, 8U);
}

TEST_F(ProfileReaderDeathTest, AMachineWithoutAPrefetcherNeedNotSaySo) {
  const Profile profile = read(
      without("stream_cycles stream_store_cycles l3_stream_cycles lines_ahead write_back_line_ns"));
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
  const std::string small = without(hops + two_hops + " context_share l2_ways l2_cycles");
  const Profile profile = read(small, "sockets=1,contexts=1,l2_kib=0");
  EXPECT_EQ(profile.context_share, 1);
  EXPECT_EQ(profile.l2_ways, 1);
  EXPECT_EQ(profile.l2_cycles, 0);
  EXPECT_EQ(profile.two_hop_clean_cycles, 45);
  EXPECT_EQ(profile.two_hop_dirty_cycles, 110);
  EXPECT_EQ(profile.two_hop_upgrade_cycles, 80);
  EXPECT_EQ(profile.two_hop_memory_cycles, 220);
  const std::string full = with("\"square\"", "\"full\"");
  EXPECT_EQ(read(without(two_hops, full), "sockets=8").two_hop_memory_cycles, 330);
  const std::string chassis = without(two_hops, with("\"square\"", "\"chassis\""));
  EXPECT_EQ(read(chassis).two_hop_memory_cycles, 330);
  expect_refusal(chassis, "FILE has no key two_hop_clean_cycles", "sockets=5");
  expect_refusal(small, "FILE has no key context_share", "sockets=1,l2_kib=0");
  expect_refusal(small, "FILE has no key l2_ways", "sockets=1,contexts=1");
  expect_refusal(small, "FILE has no key hop_clean_cycles", "contexts=1,l2_kib=0");
  expect_refusal(without(two_hops), "FILE has no key two_hop_clean_cycles");
}

TEST_F(ProfileReaderDeathTest, ASocketIsOneComplexOrHasPricesBetweenThem) {
  const Profile profile = read(whole());
  EXPECT_EQ(profile.complexes, 1);
  EXPECT_EQ(profile.complex_clean_cycles, 45);
  EXPECT_EQ(profile.complex_dirty_cycles, 110);
  EXPECT_EQ(profile.complex_upgrade_cycles, 80);
  expect_refusal(whole(), "FILE has no key complex_clean_cycles", "complexes=2");
  const std::string prices =
      ",complex_clean_cycles=1,complex_dirty_cycles=1,complex_upgrade_cycles=1";
  EXPECT_EQ(machine("complexes=2" + prices).complex_of(5), 2U);
  expect_sentence([&] { machine("complexes=3" + prices); },
                  "A machine # 1: a socket's 4 cores do not make 3 complexes of one size");
  expect_sentence(
      [&] { machine("sockets=5,cores=8,complexes=8" + prices); },
      "A machine # 1 has more than 32 shared caches, which is the most that is simulated");
}

TEST_F(ProfileReaderDeathTest, ABadProfileIsRefusedWithASentence) {
  struct {
    const char *piece, *by, *sentence;
  } const bad[] = {
      {"rmw_cycles = 20  # assumed\n", "", "FILE has no key rmw_cycles"},
      {"name = \"A machine # 1\"\n", "", "FILE has no name"},
      {"interconnect = \"square\"\n", "",
       "FILE: interconnect is \"full\", \"hub\", \"square\" or \"chassis\""},
      {"sockets = 4", "socket = 4", "FILE:5: \"socket\" is not a key of a machine's profile"},
      {"cores = 4", "sockets = 4", "FILE:6: sockets comes twice"},
      {"ghz", "name = \"another\"\nghz", "FILE:4: name comes twice"},
      {"1  # measured: here", "1", "FILE:4: ghz has no source after it (\"# source\")"},
      {"1  # measured: here", "1  # ", "FILE:4: ghz has no source after it (\"# source\")"},
      {"occupancy = 0.5", "occupancy = 1.5", "FILE:35: occupancy is between 0 and 1, not 1.5"},
      {"occupancy = 0.5", "occupancy = -0.1", "FILE:35: occupancy is between 0 and 1, not -0.1"},
      {"ghz = 1", "ghz = nan", "FILE:4: ghz is between 0.1 and 10, not nan"},
      {"ghz = 1", "ghz = 2.5x", "FILE:4: ghz is a number, not \"2.5x\""},
      {"ghz = 1", "ghz =", "FILE:4: ghz is a number, not \"\""},
      {"ghz = 1", "ghz 1", "FILE:4: a line is \"key = value  # source\""},
      {"cores = 4", "cores = 2.5", "FILE:6: cores is a whole number, not 2.5"},
  };
  for (const auto& [piece, by, sentence] : bad) expect_refusal(with(piece, by), sentence);
  expect_sentence([] { read_profile("/nowhere/x.toml", ""); },
                  "--machine=/nowhere/x.toml: there is no file /nowhere/x.toml");
}

TEST_F(ProfileReaderDeathTest, AReplacedNumberIsCheckedToo) {
  expect_refusal(whole(), "--set: \"l9_kib\" is not a key of a machine's profile", "l9_kib=1");
  expect_refusal(whole(), "--set: l1_ways is a whole number, not 8.5", "l1_ways=8.5");
  expect_refusal(whole(), "--set: ghz is between 0.1 and 10, not 11", "overlap=2,ghz=11");
  expect_refusal(whole(), "--set: ghz is a number, not \"\"", "ghz");
  expect_refusal(whole(), "--set: \"name\" is not a key of a machine's profile", "name=x");
}

TEST_F(ProfileReaderDeathTest, AMachineThatCannotBeSimulatedIsRefused) {
  expect_sentence([&] { machine("", 33); }, "--cores=33: A machine # 1 has 32 hardware contexts");
  expect_sentence([&] { machine("sockets=8,cores=33"); },
                  "A machine # 1 has more than 256 cores, which is the most that is simulated");
  expect_sentence([&] { machine("l1_kib=1,l1_ways=64"); },
                  "A machine # 1: the l1 cache has no room for one set of 64 lines");
  expect_sentence([&] { machine("far_atomic_cycles=10,l3_mib=0"); },
                  "A machine # 1: far_atomic_cycles: there is no shared cache (l3_mib)");
}

TEST_F(ProfileReaderDeathTest, ContextsAreCountedThroughTheCoresOfASocketThenTheNextThenSiblings) {
  const Machine all = machine("");
  EXPECT_EQ(all.contexts, 32U);
  EXPECT_EQ(all.sockets, 4U);
  EXPECT_EQ(all.socket_of(3), 0U);
  EXPECT_EQ(all.socket_of(4), 1U);
  EXPECT_EQ(all.core_of(19), 3U);
  EXPECT_EQ(all.socket_of(19), 0U);
  EXPECT_EQ(machine("", 4).sockets, 1U);
}

TEST_F(ProfileReaderDeathTest, ASquareHasTwoHopsAcrossAndChassisTwoHopsBetweenThem) {
  const Machine square = make_machine(small_profile(), 0, 1);
  EXPECT_EQ(square.distance(2, 2), kSameComplex);
  EXPECT_EQ(square.distance(0, 1), kOneHop);
  EXPECT_EQ(square.distance(0, 2), kOneHop);
  EXPECT_EQ(square.distance(3, 0), kTwoHops);
  EXPECT_EQ(square.distance(1, 2), kTwoHops);
  Profile other = small_profile();
  other.interconnect = "full";
  EXPECT_EQ(make_machine(other, 0, 1).distance(3, 0), kOneHop);
  other.interconnect = "chassis";
  other.sockets = 8;
  const Machine chassis = make_machine(other, 0, 1);
  for (uint32_t socket = 1; socket < 8; ++socket) {
    EXPECT_EQ(chassis.distance(0, socket), socket < 4 ? kOneHop : kTwoHops) << socket;
    EXPECT_EQ(chassis.distance(socket, 7), socket < 4   ? kTwoHops
                                           : socket < 7 ? kOneHop
                                                        : kSameComplex);
  }
}

}  // namespace
}  // namespace logjam::sim
