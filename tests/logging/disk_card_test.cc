// Cards of disks, and `sim:FILE`, which plays them.
#include "logging/device/disk_card.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "logging/device/device_registry.h"
#include "platform/memory.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

using Curve = DiskCard::Curve;

Curve constant(uint64_t bytes, uint32_t depth, double us) {
  Curve curve{.bytes = bytes, .depth = depth, .mean_us = us, .us = {}};
  curve.us.fill(us);
  return curve;
}

// A serial disk: writes under way wait for each other.
DiskCard serial() {
  return {{{"disk", "vda"}, {"sync", "fsync"}},
          {constant(4096, 0, 80), constant(4096, 1, 100), constant(4096, 2, 200),
           constant(4096, 4, 400), constant(16384, 0, 180), constant(16384, 1, 200),
           constant(16384, 2, 400), constant(16384, 4, 800)}};
}

TEST(DiskCard, TimesBetweenThePointsAreInterpolated) {
  struct Expected {
    uint64_t bytes;
    uint32_t under_way;
    bool one_call;
    double us;
  };
  for (const Expected& expected : {Expected{4096, 1, false, 100},
                                   {4096, 1, true, 80},
                                   {4096, 2, true, 200},
                                   {4096, 3, false, 300},
                                   {10240, 1, false, 150},
                                   {10240, 1, true, 130},
                                   {10240, 3, false, 450},
                                   {512, 2, false, 200},
                                   {32768, 2, false, 800},
                                   {4096, 8, false, 800}}) {
    const double us = serial().us(expected.bytes, expected.under_way, expected.one_call, 0.5);
    EXPECT_NEAR(us, expected.us, 1e-9) << expected.bytes << " " << expected.under_way;
  }
}

// A disk whose rare slow writes are far slower than all others, as most disks have them.
TEST(DiskCard, ACurveHasItsQuantilesAndItsMean) {
  for (const double slowest : {120.0, 3000.0, 90000.0}) {
    Curve curve{.bytes = 4096, .depth = 1, .mean_us = 0, .us = {}};
    for (size_t i = 0; i < curve.us.size(); ++i) {
      const double share = DiskCard::share_of(i);
      curve.us[i] = share == 1 ? slowest : 100 + share * 20;
    }
    curve.mean_us = 110 + (slowest - 120) * 0.0001;
    for (size_t i = 0; i < curve.us.size(); ++i) {
      EXPECT_NEAR(curve.at(DiskCard::share_of(i)), curve.us[i], 1e-6) << i;
    }
    constexpr int kShares = 100'000;
    double sum = 0;
    for (int i = 0; i < kShares; ++i) sum += curve.at((i + 0.5) / kShares);
    EXPECT_NEAR(sum / kShares, curve.mean_us, 0.01 * curve.mean_us) << slowest;
  }
}

TEST(DiskCard, ItsTextIsReadAgain) {
  const std::string text = serial().encode();
  DiskCard card;
  EXPECT_EQ(card.decode(text), "");
  EXPECT_EQ(card.encode(), text);
  EXPECT_EQ(card.us(10240, 3, false, 0.5), serial().us(10240, 3, false, 0.5));
  const size_t end = text.rfind("end ") + 4;
  EXPECT_EQ(card.title(), "vda, fsync, card " + text.substr(end, text.size() - end - 1));
}

TEST(DiskCard, ATextThatIsNoCardIsRefusedInOneSentence) {
  const std::string point = "its point 1 is not BYTES DEPTH MEAN and 110 times in ascending order";
  const auto times = [](const std::string& us, size_t count = DiskCard::kQuantiles) {
    std::string text = us;
    for (size_t i = 0; i < count; ++i) text += " " + us;
    return text;
  };
  struct Bad {
    std::vector<std::string> curves;
    std::string why;
  };
  for (const Bad& bad :
       {Bad{{}, "it has no point"},
        {{""}, point},
        {{"4096 0 1"}, point},
        {{"4096 0 " + times("1", 109)}, point},
        {{"4096 0 " + times("1", 111)}, point},
        {{"4096 0 " + times("-1")}, point},
        {{"4096 0 " + times("nan")}, point},
        {{"4096 0 " + times("inf")}, point},
        {{"4096 0 " + times("1e10")}, point},
        {{"4096 0 " + times("1us")}, point},
        {{"4096 0 " + times("2")}, "its depths do not begin with 0 and 1, or are not in order"},
        {{"4096 0 3 " + times("2", 109)}, point},
        {{"4096 0 2 " + times("2", 108) + " 1"}, point},
        {{"4096 0 2 1 3 " + times("2", 107)}, point},
        {{"0 0 " + times("1")}, point},
        {{"-4096 0 " + times("1")}, point},
        {{"9999999999999999999999 0 " + times("1")}, point},
        {{"4096 65 " + times("1")}, point},
        {{"4096 1 " + times("1"), "4096 0 " + times("1")},
         "its depths do not begin with 0 and 1, or are not in order"},
        {{"4096 0 " + times("1"), "4096 1 " + times("1"), "8192 0 " + times("1")},
         "its sizes do not have the same depths"},
        {{"8192 0 " + times("1"), "8192 1 " + times("1"), "4096 0 " + times("1"),
          "4096 1 " + times("1")},
         "its sizes are not in order"}}) {
    KeyValues lines;
    for (const std::string& curve : bad.curves) lines.emplace_back("curve", curve);
    DiskCard card;
    EXPECT_EQ(card.decode(encode_text_block(DiskCard::kFirstLine, lines)), bad.why);
  }
}

TEST(DiskCard, AFileThatIsNoCardIsRefused) {
  const TemporaryDirectory at;
  const std::string text = serial().encode(), file = at.path_of("card");
  const auto refusal = [&](const std::string& content) {
    std::ofstream(file) << content;
    return check_device_spec("sim:" + file);
  };
  EXPECT_EQ(refusal(text), "");
  for (const std::string& bad :
       {std::string(), std::string("\0\0\0", 3), text.substr(0, text.size() / 2),
        text.substr(0, text.size() - 1), "x" + text, std::string(text).replace(60, 1, "x")}) {
    const std::string why = refusal(bad);
    EXPECT_TRUE(why.starts_with("--device=sim:" + file + " is not a device: " + file +
                                " is not a card: it"))
        << why;
  }
  for (const std::string& bad : {text + std::string(1 << 20, 'x'), std::string(1 << 21, '\n')}) {
    EXPECT_NE(refusal(bad).find("cannot read the card " + file + ": "), std::string::npos);
  }
  for (const std::string& bad : {at.path(), at.path_of("missing"), std::string("/dev/zero")}) {
    EXPECT_NE(check_device_spec("sim:" + bad).find("cannot read the card " + bad + ": "),
              std::string::npos);
  }
  EXPECT_NE(check_device_spec("faulty:sim:missing"), "");
}

TEST(DiskCard, TheTimesFollowFromTheSeed) {
  Curve curve = constant(4096, 0, 100);
  for (size_t i = 0; i < curve.us.size(); ++i) curve.us[i] += static_cast<double>(i) - 50;
  Curve deeper = curve;
  deeper.depth = 1;
  const DiskCard card({}, {curve, deeper});
  const auto times = [&](uint64_t seed) {
    CardTimes drawn(card, seed);
    std::vector<double> us(1000);
    for (double& time : us) time = drawn.next_us(4096, 1, false);
    return us;
  };
  EXPECT_EQ(times(1), times(1));
  EXPECT_NE(times(1), times(2));
  EXPECT_LT(std::ranges::min(times(1)), 60);
  EXPECT_GT(std::ranges::max(times(1)), 140);
}

// On this disk a write takes no time, or forever.
TEST(SimDevice, TheTimesFollowFromTheDevicesSeed) {
  const TemporaryDirectory at;
  Curve curve = constant(4096, 0, 0);
  std::fill(curve.us.begin() + curve.us.size() / 2, curve.us.end(), 9e8);
  Curve deeper = curve;
  deeper.depth = 1;
  const std::string file = at.path_of("card");
  std::ofstream(file) << DiskCard({}, {curve, deeper}).encode();
  const platform::MirroredMemory memory(4096);
  const auto ended = [&](uint64_t seed) {
    constexpr uint32_t kDepth = 64;
    const TemporaryDirectory directory;
    const auto device = open_device(
        "sim:" + file, {.path = directory.path_of("log"), .seed = seed, .depth = kDepth});
    std::string slots;
    for (uint32_t slot = 0; slot < kDepth; ++slot) {
      device->start(0, {memory.data(), 4096}, Sync::kData, slot);
      slots += device->finished(slot) ? "+" : "-";
    }
    return slots;
  };
  EXPECT_EQ(ended(1), ended(1));
  EXPECT_NE(ended(1), ended(2));
}

// Without writes under way, a write of this card takes a quarter of an hour. The test waits for
// writes that count the others, and for a write in one call.
TEST(SimDevice, ACardIsPlayedByTheNumberOfWritesUnderWay) {
  const TemporaryDirectory at;
  constexpr double kNever = 9e8;
  const std::string file = at.path_of("card");
  std::ofstream(file) << DiskCard({}, {constant(4096, 0, 1), constant(4096, 1, kNever),
                                       constant(4096, 2, 1)})
                             .encode();
  const platform::MirroredMemory memory(4096);
  const auto device_of = [&](const std::string& name) {
    return open_device("sim:" + file, {.path = at.path_of(name), .depth = 2});
  };
  const auto first = device_of("first"), second = device_of("second");
  const auto write = [&](Device& device, uint32_t slot) {
    device.start(0, {memory.data(), 4096}, Sync::kData, slot);
  };
  first->write_through(0, {memory.data(), 4096});  // in one call
  write(*first, 0);
  EXPECT_FALSE(first->finished(0));
  write(*first, 1);
  while (!first->finished(1)) first->wait(1'000'000);
  EXPECT_FALSE(first->finished(0));
  write(*second, 0);
  while (!second->finished(0)) second->wait(1'000'000);
  const TemporaryDirectory another;
  const auto third = open_device("sim:" + file, {.path = another.path_of("third"), .depth = 2});
  write(*third, 0);
  EXPECT_FALSE(third->finished(0)) << "another directory is another medium";
}

}  // namespace
}  // namespace logjam
