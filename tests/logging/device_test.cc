// Devices alone, and R1 and R7 for a log on a device that loses, tears or refuses writes.
#include <atomic>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "logging/device/device_registry.h"
#include "logging/device/faulty_device.h"
#include "platform/clock.h"
#include "platform/memory.h"
#include "platform/spin.h"
#include "tests/logging/log_fixture.h"
#include "tests/logging/watchdog.h"
#include "tests/scoped_flags.h"

namespace logjam {
namespace {
std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

TEST(DeviceSpec, SpecsAreAcceptedOrRefused) {
  for (const char* good : {"file", "sync", "null", "discard", "sim:100", "sim:0.5:1200", "nvm",
                           "nvm:0", "nvm:300", "faulty:sync", "faulty:sim:10", "faulty:nvm:5"}) {
    EXPECT_EQ(check_device_spec(good), "") << good;
  }
  for (const char* bad :
       {"", "files", "sim:", "sim:x", "sim:-1", "sim:10:", "sim:1e99", "sim:nan", "nvm:x", "nvm:-1",
        "nvm:5:5", "nvme", "faulty:nvm:", "faulty:", "faulty:faulty:sync"}) {
    EXPECT_TRUE(
        check_device_spec(bad).starts_with("--device=" + std::string(bad) + " is not a device"))
        << check_device_spec(bad);
  }
}

TEST(DeviceSpec, RefusalsSayWhichPartIsWrong) {
  const std::pair<const char*, const char*> wrong[] = {
      {"tape",
       "; allowed are discard, faulty:<spec>, file, null, nvm[:NS], sim:LATENCY_US[:MB_S] or "
       "sim:CARD, sync"},
      {"Files", "; did you mean file?"},
      {"smi:20", "; did you mean sim:LATENCY_US[:MB_S] or sim:CARD?"},
      {"file:2", ": it has no parameters (file)"},
      {"sim", ": LATENCY_US is missing (sim:LATENCY_US[:MB_S] or sim:CARD)"},
      {"sim:20us",
       ": LATENCY_US is a number from 0 to 1e9, without a unit, not \"20us\" "
       "(sim:LATENCY_US[:MB_S] or sim:CARD)"},
      {"sim:1:x",
       ": MB_S is a number from 0 to 1e9, without a unit, not \"x\" (sim:LATENCY_US[:MB_S] or "
       "sim:CARD)"},
      {"sim:10:0", ": MB_S cannot be 0 (sim:LATENCY_US[:MB_S] or sim:CARD)"},
      {"sim:10:5:5", ": nothing can follow MB_S (sim:LATENCY_US[:MB_S] or sim:CARD)"},
      {"nvm:", ": NS is a number from 0 to 1e9, without a unit, not \"\" (nvm[:NS])"},
      {"faulty:discard", ": faulty cannot wrap \"discard\" (faulty:<spec>)"},
      {"faulty", ": the device that it wraps is missing (faulty:<spec>)"},
  };
  for (const auto& [spec, why] : wrong) {
    EXPECT_EQ(check_device_spec(spec), std::string("--device=") + spec + " is not a device" + why);
  }
}

TEST(DeviceSpec, AnOpenDeviceHasTheTraitsOfItsSpecAndFaultyThoseOfItsInnerDevice) {
  struct Expected {
    const char* spec;
    bool keeps, is_memory, has_segments, discards;
  };
  for (const Expected& expected : {Expected{"file", true, false, true, false},
                                   {"sync", true, false, true, false},
                                   {"sim:5", true, false, false, false},
                                   {"nvm:5", true, true, false, false},
                                   {"null", false, false, false, false},
                                   {"discard", false, false, false, true}}) {
    for (const std::string faulty : {"", "faulty:"}) {
      const std::string spec = faulty + expected.spec;
      if (spec == "faulty:discard") continue;
      SCOPED_TRACE(spec);
      const LogDirectory directory;
      const auto device = open_device(spec, {directory.file(), 0, 1});
      for (const DeviceTraits& traits : {device->traits(), device_traits(spec)}) {
        EXPECT_EQ(traits.keeps, expected.keeps);
        EXPECT_EQ(traits.is_memory, expected.is_memory);
        EXPECT_EQ(traits.has_segments, expected.has_segments);
        EXPECT_EQ(traits.discards, expected.discards);
      }
      EXPECT_EQ(device->memory() != nullptr, expected.is_memory);
      EXPECT_TRUE(std::has_single_bit(device->block_bytes()));
      EXPECT_EQ(std::filesystem::exists(directory.file()), expected.keeps);
    }
  }
}

TEST(Device, WritesArriveAtTheirOffsetsAlsoBeyondThePreallocation) {
  for (const char* spec : {"file", "sync", "sim:10", "nvm", "faulty:sync", "faulty:file",
                           "faulty:sim:5", "faulty:nvm"}) {
    SCOPED_TRACE(spec);
    LogDirectory directory;
    constexpr uint64_t kBytes = uint64_t{4} << 20, kPiece = 512 * 1024;
    const platform::MirroredMemory memory(kBytes);
    std::mt19937_64 random(1);
    for (size_t i = 0; i < kBytes; i += 8) {
      const uint64_t word = random();
      std::memcpy(memory.data() + i, &word, 8);
    }
    {
      const auto device = open_device(spec, {directory.file(), uint64_t{1} << 20, 1});
      for (uint64_t at = 0; at < kBytes; at += kPiece) {
        device->start(at, {memory.data() + at, kPiece}, Sync::kData);
        while (!device->finished()) device->wait(1'000'000);
      }
    }
    const auto found = read_file(directory.file());
    ASSERT_GE(found.size(), kBytes);
    EXPECT_EQ(std::memcmp(found.data(), memory.data(), kBytes), 0);
    for (size_t i = kBytes; i < found.size(); ++i) ASSERT_EQ(found[i], std::byte{0});
  }
}

// Writes in different slots finish in any order. Each write goes to its own offset.
TEST(Device, SeveralWritesAreUnderWayAtOnce) {
  for (const char* spec :
       {"file", "sim:2000", "sim:100:50", "null", "faulty:sync", "faulty:file", "faulty:sim:50"}) {
    SCOPED_TRACE(spec);
    LogDirectory directory;
    constexpr uint32_t kDepth = 8;
    constexpr uint64_t kPiece = 8192, kPieces = 100;
    const platform::MirroredMemory memory(kPieces * kPiece);
    std::memset(memory.data(), 0, kPieces * kPiece);
    for (uint64_t i = 0; i < kPieces * kPiece; i += 512)
      memory.data()[i] = std::byte(1 + i / 512 % 251);
    uint32_t most = 0;
    {
      const auto device = open_device(spec, {directory.file(), uint64_t{1} << 20, 1, kDepth});
      std::vector<bool> busy(device->depth());
      for (uint64_t begun = 0, ended = 0; ended < kPieces;) {
        for (uint32_t slot = 0; slot < device->depth(); ++slot) {
          if (busy[slot] && device->finished(slot)) {
            busy[slot] = false;
            ++ended;
          }
          if (!busy[slot] && begun < kPieces) {
            // The last piece of the file is written first, so for some time there is a gap before
            // this piece.
            const uint64_t at = (kPieces - 1 - begun++) * kPiece;
            device->start(at, {memory.data() + at, kPiece}, Sync::kData, slot);
            busy[slot] = true;
          }
        }
        most = std::max(most, static_cast<uint32_t>(std::ranges::count(busy, true)));
        if (ended < begun) device->wait(1'000'000);
      }
      EXPECT_EQ(most, device->depth());
    }
    if (spec == std::string("null")) continue;
    const auto found = read_file(directory.file());
    ASSERT_GE(found.size(), kPieces * kPiece);
    EXPECT_EQ(std::memcmp(found.data(), memory.data(), kPieces * kPiece), 0);
  }
}

TEST(SimDevice, TheResponseTimesOfWritesUnderWayOverlap) {
  const LogDirectory directory;
  constexpr uint32_t kDepth = 8;
  const auto device = open_device("sim:100000", {directory.file(), 0, 1, kDepth});
  const platform::MirroredMemory memory(kDepth * 4096);
  for (uint32_t slot = 0; slot < kDepth; ++slot) {
    device->start(slot * 4096, {memory.data(), 4096}, Sync::kData, slot);
  }
  device->wait(10'000'000'000);
  // All writes began together, so they have all ended when the last write has ended.
  while (!device->finished(kDepth - 1)) device->wait(1'000'000);
  for (uint32_t slot = 0; slot < kDepth; ++slot) EXPECT_TRUE(device->finished(slot));
}

// All files in a directory share one simulated device. Each other directory has its own device.
TEST(SimDevice, FilesOfADirectoryShareItsBandwidth) {
  const LogDirectory directory, other;
  constexpr uint64_t kBytes = 200 * 1024, kTransferNs = kBytes * 100;  // 10 MB/s
  const platform::MirroredMemory memory(kBytes);
  const auto first = open_device("sim:10:10", {directory.file(), 0, 1});
  const auto second = open_device("sim:10:10", {directory.file() + "2", 0, 1});
  const auto third = open_device("sim:10:10", {other.file(), 0, 1});
  const uint64_t start = platform::now_ns();
  for (Device* device : {first.get(), second.get(), third.get()}) {
    device->start(0, {memory.data(), kBytes}, Sync::kData);
  }
  const auto ended = [&](Device& device) {
    while (!device.finished()) device.wait(1'000'000);
    return platform::now_ns() - start;
  };
  ended(*third);
  EXPECT_FALSE(second->finished() && platform::now_ns() - start < 2 * kTransferNs);
  EXPECT_GE(ended(*first), kTransferNs);
  EXPECT_GE(ended(*second), 2 * kTransferNs);
}

TEST(FaultyDevice, KeepsSyncedBytesAndMayLoseOthers) {
  uint64_t lost_rounds = 0, torn_rounds = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    LogDirectory directory;
    const auto device = open_device("faulty:sync", {directory.file(), 0, seed});
    std::vector<std::byte> ones(8192, std::byte{1}), twos(8192, std::byte{2});
    device->write_through(0, ones);
    device->start(0, twos, Sync::kNone);
    EXPECT_TRUE(device->finished());
    dynamic_cast<FaultyDevice&>(*device).power_cut();
    device->start(8192, twos, Sync::kData);
    EXPECT_FALSE(device->finished());

    const auto found = read_file(directory.file());
    ASSERT_EQ(found.size(), 8192u);
    uint64_t sectors_of_twos = 0;
    for (size_t sector = 0; sector < found.size(); sector += 512) {
      for (size_t i = 0; i < 512; ++i) ASSERT_EQ(found[sector + i], found[sector]);
      sectors_of_twos += found[sector] == std::byte{2} ? 1 : 0;
    }
    lost_rounds += sectors_of_twos < 16;
    torn_rounds += sectors_of_twos > 0 && sectors_of_twos < 16;
  }
  EXPECT_EQ(lost_rounds, 20u);
  EXPECT_GT(torn_rounds, 10u);
}

TEST(FaultyDevice, WritesUnderWayReachTheDiskInAnyOrder) {
  uint64_t gaps = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    LogDirectory directory;
    constexpr uint32_t kDepth = 4;
    const auto device = open_device("faulty:sync", {directory.file(), 0, seed, kDepth});
    const std::vector<std::byte> zeros(kDepth * 4096), ones(4096, std::byte{1});
    device->write_through(0, zeros);
    for (uint32_t slot = 0; slot < kDepth; ++slot) {
      device->start(slot * 4096, ones, Sync::kData, slot);
    }
    uint32_t finished = 0;
    for (uint64_t i = 0; i < seed % 4; ++i) finished += device->finished(i % kDepth) ? 1 : 0;
    dynamic_cast<FaultyDevice&>(*device).power_cut();
    const auto found = read_file(directory.file());
    uint32_t there = 0;
    bool gap = false, missing = false;
    for (uint32_t slot = 0; slot < kDepth; ++slot) {
      const bool whole = std::memcmp(found.data() + slot * 4096, ones.data(), 4096) == 0;
      there += whole ? 1 : 0;
      gap = gap || (whole && missing);
      missing = missing || !whole;
    }
    EXPECT_GE(there, finished);
    gaps += gap ? 1 : 0;
  }
  EXPECT_GT(gaps, 5u);
}

TEST(FaultyDeviceDeathTest, TwoWritesAtOnceThatOverlapEndTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const LogDirectory directory;
  const platform::MirroredMemory memory(4096);
  const std::span<const std::byte> bytes(memory.data(), 4096);
  EXPECT_EXIT(
      {
        const auto device = open_device("faulty:sim:100000", {directory.file(), 0, 1, 2});
        device->start(0, bytes, Sync::kData, 0);
        device->start(512, bytes, Sync::kData, 1);
      },
      testing::ExitedWithCode(3),
      "two writes to .* that overlap at byte 512 are under way at once");
}

class PowerCut : public testing::TestWithParam<const SchemeInfo*> {};

// R1: if is_durable() was true for a record before the power cut, the record is in the file. Every
// record in the file is correct. A striped log's slow devices finish writes in any order.
TEST_P(PowerCut, DurableRecordsAreReadable) {
  const SchemeInfo* scheme = GetParam();
  for (const char* device :
       {"faulty:sync", "faulty:file", "faulty:sim:200", "faulty:sim:50:5", "faulty:nvm"}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE(std::string(device) + ", seed " + std::to_string(seed));
      LogDirectory directory;
      constexpr uint32_t kWorkers = 3;
      LogOptions options = log_options(*scheme, directory, device, kWorkers);
      options.config.buffer_bytes = 65536;
      options.config.flush_help = seed % 2 == 0;
      options.config.preemptible_workers = seed % 3 == 0;
      options.seed = seed;
      options.io_depth = uint32_t{1} << seed % 4;
      options.config.stripe_bytes = 4096;
      // With seeds 2 and 4 the log has several segments. Some are made while the log is written.
      options.preallocate_bytes = seed % 2 == 0 ? 65536 : 0;
      options.segment_bytes = 16384;
      ScopedFlags flags;
      flags.set("pwal_ngroup", 1'000'000);  // a flush by a worker would never end
      if (!scheme->traits.in_place && scheme->stream_count(1, options.config) == 1) {
        for (uint64_t i = 0; i < seed % 3; ++i) {
          options.directories.push_back(directory.path() + "/" + std::to_string(i));
        }
      }
      const Watchdog watchdog("a worker did not come back from a power cut");
      Log log(options);
      log.start();
      std::atomic<uint64_t> acknowledged[kWorkers] = {};
      std::vector<Published> published[kWorkers];
      std::atomic<bool> stop{false};
      std::vector<std::thread> threads;
      for (uint32_t worker = 0; worker < kWorkers; ++worker) {
        threads.emplace_back([&, worker] {
          auto& mine = published[worker];
          platform::SpinWait wait;
          for (uint64_t i = 0;; log.scheme().poll(worker)) {
            uint64_t done = acknowledged[worker].load();
            while (done < mine.size() && log.scheme().is_durable(mine[done].point)) ++done;
            // After `stop`, writes are forgotten, so a durable commit proves nothing.
            if (stop.load()) return;
            acknowledged[worker].store(done);
            if (mine.size() - done < 100) {
              mine.push_back(publish_record(log, worker, uint64_t{worker} << 48 | i++, 128));
              wait = {};
            } else {
              wait.once();
            }
          }
        });
      }
      for (platform::SpinWait wait; acknowledged[0].load() == 0;) wait.once();
      std::this_thread::sleep_for(std::chrono::microseconds(331 * seed));
      for (Device* one : log.devices()) dynamic_cast<FaultyDevice&>(*one).power_cut();
      stop.store(true);
      // Ends the wait of workers that wait for space.
      for (Device* one : log.devices()) dynamic_cast<FaultyDevice&>(*one).forget_writes();
      for (std::thread& thread : threads) thread.join();

      const LogFiles files = find_log_files(options.directories);
      ASSERT_EQ(files.error, "");
      std::vector<ReadLog> logs;
      std::vector<StreamTail> tails;
      for (const auto& paths : files.paths) {
        logs.push_back(read_log(paths));
        EXPECT_EQ(logs.back().error, "");
        EXPECT_TRUE(logs.back().filled_rightly);
        tails.push_back(logs.back().tail);
      }
      const Cut cut = scheme->recovery.cut(tails);
      for (uint32_t worker = 0; worker < kWorkers; ++worker) {
        for (uint64_t i = 0; i < acknowledged[worker].load(); ++i) {
          const Published& one = published[worker][i];
          const auto at = logs[one.stream].find(one);
          ASSERT_NE(at, logs[one.stream].records.end())
              << "acknowledged and lost: record " << i << " of worker " << worker << " at byte "
              << one.position << "; the log: " << logs[one.stream].tail.why;
          EXPECT_EQ(at->second.txn, one.txn);
          EXPECT_LE(at->first + one.bytes, cut.bytes[one.stream]);
        }
      }
      log.stop();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PowerCut, testing::ValuesIn(logging_schemes()), scheme_test_name);

TEST(NullDevice, ALogOnTheNullDeviceNeedsNoDirectoryAndTouchesNone) {
  LogDirectory directory;
  LogOptions options = log_options(*find_scheme("centr"), directory, "sync", 1);
  { const Log earlier(options); }
  options.device = "null";
  for (const bool named : {true, false}) {
    if (!named) options.directories.clear();
    Log log(options);
    log.start();
    log.scheme().wait_durable(0, publish_record(log, 0, 1, 64).point);
  }
  EXPECT_EQ(read_log(directory.file()).error, "");
}

}  // namespace
}  // namespace logjam
