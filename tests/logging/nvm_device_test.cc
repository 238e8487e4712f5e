// The device that is memory. Bytes that a worker stores and persists in place must be in the file,
// however long the file becomes. On `faulty`, a power cut loses bytes that were not persisted.
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <thread>

#include "logging/device/faulty_device.h"
#include "platform/clock.h"
#include "platform/persist.h"
#include "tests/logging/log_fixture.h"

namespace logjam {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

std::vector<std::byte> read_file(const std::string& path, uint64_t offset, size_t bytes) {
  std::ifstream in(path, std::ios::binary);
  in.seekg(static_cast<long>(offset));
  std::vector<std::byte> found(bytes);
  in.read(reinterpret_cast<char*>(found.data()), static_cast<long>(bytes));
  found.resize(static_cast<size_t>(in.gcount()));
  return found;
}

uint64_t file_bytes(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

// Several threads fill and persist adjacent chunks, far beyond the file's initial length.
TEST(NvmDevice, PersistedBytesAreInTheFileHoweverFarItGrows) {
  constexpr uint32_t kThreads = 4;
  constexpr uint64_t kChunkBytes = 4096 - 8, kPieces = 1500;
  for (const char* spec : {"nvm", "faulty:nvm"}) {
    SCOPED_TRACE(spec);
    LogDirectory directory;
    {
      const auto device = open_device(spec, {directory.file(), kMiB, 1});
      EXPECT_EQ(file_bytes(directory.file()), kMiB);
      std::vector<std::thread> threads;
      for (uint32_t t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
          for (uint64_t i = t; i < kPieces; i += kThreads) {
            std::byte* at = device->memory()->mapped(i * kChunkBytes, kChunkBytes);
            std::memset(at, static_cast<int>(i % 251 + 1), kChunkBytes);
            EXPECT_TRUE(device->memory()->persist({at, kChunkBytes}));
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
    }
    EXPECT_GE(file_bytes(directory.file()), kPieces * kChunkBytes);
    const auto found = read_file(directory.file(), 0, kPieces * kChunkBytes);
    ASSERT_EQ(found.size(), kPieces * kChunkBytes);
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i], static_cast<std::byte>(i / kChunkBytes % 251 + 1)) << "byte " << i;
    }
  }
}

TEST(NvmDevice, ARecycledFileKeepsItsBytesAndGetsBlocksForItsHoles) {
  LogDirectory directory;
  const std::string old = "an earlier run's";
  std::ofstream(directory.file()) << old;
  ASSERT_EQ(truncate(directory.file().c_str(), 3 * kMiB), 0);
  struct stat status;
  ASSERT_EQ(stat(directory.file().c_str(), &status), 0);
  ASSERT_LT(static_cast<uint64_t>(status.st_blocks) * 512, kMiB);
  const auto device = open_device("nvm", {directory.file(), kMiB, 1});
  ASSERT_EQ(stat(directory.file().c_str(), &status), 0);
  EXPECT_GE(static_cast<uint64_t>(status.st_blocks) * 512, 3 * kMiB);
  EXPECT_EQ(std::memcmp(device->memory()->mapped(0, old.size()), old.data(), old.size()), 0);
}

// A write also persists its bytes, whether the device copies them or a worker filled them in place.
TEST(NvmDevice, EachPersistAndEachWriteTakesAtLeastItsTime) {
  LogDirectory directory;
  const auto device = open_device("nvm:100000", {directory.file(), kMiB, 1});
  std::byte* at = device->memory()->mapped(0, 64);
  const std::vector<std::byte> elsewhere(64);
  const auto takes_its_time = [](const auto& persist) {
    const uint64_t start = platform::ticks();
    for (int i = 0; i < 3; ++i) persist();
    EXPECT_GE(platform::ticks() - start, 3 * platform::ns_to_ticks(100'000));
  };
  takes_its_time([&] { EXPECT_TRUE(device->memory()->persist({at, 64})); });
  takes_its_time([&] { device->start(0, {at, 64}, Sync::kData); });
  takes_its_time([&] { device->start(0, elsewhere, Sync::kData); });
}

// A power cut of `faulty` keeps all persisted bytes. Of the unpersisted bytes, the cut keeps only
// the cache lines that were evicted before.
TEST(NvmDevice, OverFaultyAPowerCutLosesOrTearsUnpersistedBytes) {
  constexpr uint64_t kOffset = 4096, kBytes = 640;
  uint64_t all_lost = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    LogDirectory directory;
    const auto device = open_device("faulty:nvm", {directory.file(), kMiB, seed});
    PersistentMemory& memory = *device->memory();
    std::byte* first = memory.mapped(kOffset, kBytes);
    std::byte* second = memory.mapped(kOffset + kBytes, kBytes);
    std::memset(first, 1, kBytes);
    std::memset(second, 2, kBytes);
    EXPECT_TRUE(memory.persist({first, kBytes}));
    dynamic_cast<FaultyDevice&>(*device).power_cut();
    EXPECT_FALSE(memory.persist({second, kBytes}));

    const auto found = read_file(directory.file(), kOffset, 2 * kBytes);
    ASSERT_EQ(found.size(), 2 * kBytes);
    uint64_t early = 0;
    for (uint64_t i = 0; i < kBytes; ++i) {
      ASSERT_EQ(found[i], std::byte{1});
      ASSERT_EQ(found[kBytes + i], found[kBytes + i / 64 * 64]) << "torn inside a cache line";
      early += found[kBytes + i] == std::byte{2};
    }
    EXPECT_LT(early, kBytes);
    all_lost += early == 0;
  }
  EXPECT_LT(all_lost, 20u) << "no line ever left the cache early";
}

TEST(NvmDevice, WriteBackAcceptsAnyRangeAndChangesNoByte) {
  const std::string name = platform::write_back_instruction();
  EXPECT_TRUE(name == "clwb" || name == "clflushopt" || name == "clflush") << name;
  std::vector<std::byte> memory(4096, std::byte{7});
  for (size_t begin : {0, 1, 63, 64}) {
    for (size_t bytes : {0, 1, 64, 1000}) platform::write_back(memory.data() + begin, bytes);
  }
  for (const std::byte one : memory) ASSERT_EQ(one, std::byte{7});
}

TEST(NvmDeviceDeathTest, ATruncatedFileEndsTheProcessWithAMessage) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  LogDirectory directory;
  EXPECT_EXIT(
      {
        const auto device = open_device("nvm", {directory.file(), 4 * kMiB, 1});
        std::byte* at = device->memory()->mapped(kMiB, 64);
        [[maybe_unused]] const int cut = truncate(directory.file().c_str(), 4096);
        *at = std::byte{1};
      },
      testing::ExitedWithCode(3), "cannot be accessed any more .SIGBUS.; nothing is acknowledged");
}

TEST(NvmDeviceDeathTest, OutgrowingTheReservedAddressesEndsTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  LogDirectory directory;
  EXPECT_EXIT(
      {
        const auto device = open_device("nvm", {directory.file(), kMiB, 1});
        device->memory()->mapped(uint64_t{64} << 30, 64);
      },
      testing::ExitedWithCode(3), "cannot map more of the log file .*: File too large");
}

}  // namespace
}  // namespace logjam
