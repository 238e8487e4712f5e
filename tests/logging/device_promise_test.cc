// A device syncs bytes before it reports them as durable. Simulated writes take the full latency.
#include <linux/audit.h>
#include <linux/io_uring.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <fstream>

#include "logging/device/device_registry.h"
#include "platform/clock.h"
#include "platform/files.h"
#include "platform/memory.h"
#include "tests/logging/log_fixture.h"
#include "tests/scoped_flags.h"
#include "tests/system_call_filter.h"
#include "tests/wrapped_files.h"

namespace logjam {
namespace {

constexpr uint64_t kBytes = 8192;

enum class Failing { kSyncs, kWrites };

// Makes fdatasync() and fsync(), or pwrite(), fail with EIO, and pwritev2() with a sync flag. They
// fail in this thread and in the threads that it starts.
void fail(Failing calls) {
  const bool writes = calls == Failing::kWrites;
  const uint32_t one = writes ? SYS_pwrite64 : SYS_fdatasync,
                 other = writes ? SYS_pwrite64 : SYS_fsync;
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, one, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwritev2, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[5])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, RWF_DSYNC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EIO),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  filter_system_calls(filter);
}

// R1 and R7: no write with Sync::kData finishes without a sync, and no failed write finishes. If
// the device skipped the sync, this test would see the write reported as durable.
TEST(FailureDeathTest, AWriteIsDurableOnlyAfterItsSync) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  struct Way {
    const char* spec;
    bool threads;  // `file` without io_uring, and start()
  };
  for (const Way& way : {Way{"sync", false}, {"file", false}, {"file", true}}) {
    ScopedFlags flags;
    if (way.threads) flags.set("test", std::string("no_io_uring:1"));
    for (const std::string_view name : kSyncMethods) {
      SCOPED_TRACE(std::string(way.spec) + " " + std::string(name));
      const LogDirectory directory;
      const SyncMethod method = *sync_method(name);
      const auto write = [&](Sync sync, Failing calls = Failing::kSyncs) {
        const platform::MirroredMemory memory(kBytes);
        const auto device =
            open_device(way.spec, {.path = directory.file(), .depth = 2, .sync_method = method});
        fail(calls);
        if (way.threads) {
          device->start(0, {memory.data(), kBytes}, sync, 1);
        } else {
          device->start_and_wait(0, {memory.data(), kBytes}, sync, 1'000'000);
        }
        while (!device->finished(way.threads ? 1 : 0)) device->wait(1'000'000);
        std::_Exit(0);
      };
      if (method != SyncMethod::kNone) {
        EXPECT_EXIT(write(Sync::kData), testing::ExitedWithCode(3),
                    "cannot write and sync the log file .*: Input/output error");
      } else {
        EXPECT_EXIT(write(Sync::kData), testing::ExitedWithCode(0), "");
      }
      EXPECT_EXIT(write(Sync::kNone), testing::ExitedWithCode(0), "");
      EXPECT_EXIT(write(Sync::kData, Failing::kWrites), testing::ExitedWithCode(3),
                  "cannot write and sync the log file .*: Input/output error");
    }
  }
}

// Returns the submission queue entries of this process's only io_uring. /proc/self/maps shows their
// mapping with the offset IORING_OFF_SQES.
const io_uring_sqe* submission_entries() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0, offset = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx", &begin, &end, &offset) != 3) continue;
    if (offset != IORING_OFF_SQES || line.find("[io_uring]") == line.npos) continue;
    return reinterpret_cast<const io_uring_sqe*>(begin);
  }
  return nullptr;
}

// The test reads the requests from the queue that the device shares with the kernel. The write lies
// in two segment files, so it has a sync in each file.
TEST(FileDevice, EachPartOfAnAsynchronousWriteAsksForItsSync) {
  constexpr uint64_t kSegment = uint64_t{64} << 10;
  constexpr uint32_t kEntries = 4;  // of the ring of a device of depth 2
  for (const std::string_view name : kSyncMethods) {
    const SyncMethod method = *sync_method(name);
    const LogDirectory directory;
    const platform::MirroredMemory memory(kBytes);
    const auto device = open_device("file", {.path = directory.file(),
                                             .preallocate_bytes = 3 * kSegment,
                                             .depth = 2,
                                             .segment_bytes = kSegment,
                                             .sync_method = method});
    const io_uring_sqe* entries = submission_entries();
    ASSERT_NE(entries, nullptr);
    uint32_t entry = 0;
    for (const Sync sync : {Sync::kData, Sync::kNone}) {
      SCOPED_TRACE(std::string(name) + (sync == Sync::kData ? " synced" : " not synced"));
      device->start(kSegment - kBytes / 2, {memory.data(), kBytes}, sync, 1);
      while (!device->finished(1)) device->wait(1'000'000);
      const bool apart =
          sync == Sync::kData && (method == SyncMethod::kFdatasync || method == SyncMethod::kFsync);
      const bool with_write = sync == Sync::kData && method == SyncMethod::kDsync;
      for (const uint64_t offset : {kSegment - kBytes / 2, uint64_t{0}}) {
        const io_uring_sqe& write = entries[entry++ % kEntries];
        EXPECT_EQ(write.opcode, IORING_OP_WRITE);
        EXPECT_EQ(write.off, offset);
        EXPECT_EQ(write.len, kBytes / 2);
        EXPECT_EQ(write.rw_flags, with_write ? RWF_DSYNC : 0);
        EXPECT_EQ(write.flags, apart ? IOSQE_IO_LINK : 0);
        if (!apart) continue;
        const io_uring_sqe& synced = entries[entry++ % kEntries];
        EXPECT_EQ(synced.opcode, IORING_OP_FSYNC);
        EXPECT_EQ(synced.fd, write.fd);
        EXPECT_EQ(synced.fsync_flags, method == SyncMethod::kFsync ? 0 : IORING_FSYNC_DATASYNC);
      }
    }
  }
}

// A file that the device closes meanwhile must not be the file that a later part of a write uses.
TEST(FileDevice, WritesInMoreSegmentsThanTheDeviceKeepsOpenAreUnderWayAtOnce) {
  constexpr uint64_t kSegment = uint64_t{64} << 10;
  constexpr uint32_t kSegments = 24;
  const platform::MirroredMemory memory(kBytes);
  for (const uint64_t threads : {0, 1}) {
    ScopedFlags flags;
    flags.set("test", "no_io_uring:" + std::to_string(threads));
    for (const SyncMethod method : {SyncMethod::kDsync, SyncMethod::kFdatasync}) {
      const LogDirectory directory;
      const auto device = open_device("file", {.path = directory.file(),
                                               .preallocate_bytes = kSegments * kSegment,
                                               .depth = kSegments,
                                               .segment_bytes = kSegment,
                                               .sync_method = method});
      for (uint32_t slot = 0; slot < kSegments; ++slot) {
        device->start(slot * kSegment + kBytes, {memory.data(), kBytes}, Sync::kData, slot);
      }
      for (uint32_t slot = 0; slot < kSegments; ++slot) {
        while (!device->finished(slot)) device->wait(1'000'000'000);
      }
    }
  }
}

// A worker may end while the write that it started is under way. The kernel then gives a sync that
// waits for the write back unexecuted. The device must not take this for a failure.
TEST(FileDevice, AWriteWhoseThreadHasEndedBecomesDurable) {
  constexpr int kWrites = 25;
  for (const std::string_view name : kSyncMethods) {
    const LogDirectory directory;
    const platform::MirroredMemory memory(kBytes);
    const auto device =
        open_device("file", {.path = directory.file(), .sync_method = *sync_method(name)});
    for (int i = 0; i < kWrites; ++i) {
      std::thread([&] { device->start(0, {memory.data(), kBytes}, Sync::kData); }).join();
      while (!device->finished()) device->wait(1'000'000);
    }
  }
}

TEST(FailureDeathTest, AWriteFromABadAddressEndsTheProcess) {
  const auto write = [](std::string_view method) {
    const LogDirectory directory;
    auto memory = std::make_unique<platform::MirroredMemory>(kBytes);
    const std::span<const std::byte> bytes(memory->data(), kBytes);
    const auto device =
        open_device("file", {.path = directory.file(), .sync_method = *sync_method(method)});
    memory.reset();
    device->start(0, bytes, Sync::kData);
    while (!device->finished()) device->wait(1'000'000);
  };
  for (const std::string_view name : kSyncMethods) {
    EXPECT_EXIT(write(name), testing::ExitedWithCode(platform::kExitFailed),
                "cannot write and sync the log file .*: Bad address; ");
  }
}

// Holds each write until `wanted` writes are under way.
class Gathered final : public WrappedFiles {
 public:
  int64_t write(int file, uint64_t offset, std::span<const std::byte> bytes, bool synced) override {
    ++under_way_;
    while (under_way_ < wanted) std::this_thread::yield();
    return WrappedFiles::write(file, offset, bytes, synced);
  }
  std::atomic<uint32_t> wanted{0};

 private:
  std::atomic<uint32_t> under_way_{0};
};

// If the device had no thread for each slot, the first write would wait for ever.
TEST(FileDevice, WithoutIoUringSeveralWritesAreUnderWayAtOnce) {
  constexpr uint32_t kDepth = 4;
  ScopedFlags flags;
  flags.set("test", std::string("no_io_uring:1"));
  const LogDirectory directory;
  const platform::MirroredMemory memory(kBytes);
  Gathered files;
  const platform::ReplaceFiles replace(files);
  const auto device = open_device("file", {.path = directory.file(), .depth = kDepth});
  EXPECT_EQ(device->io(), "pwrite");
  files.wanted = kDepth;
  for (uint32_t slot = 0; slot < kDepth; ++slot) {
    device->start(slot * kBytes, {memory.data(), kBytes}, Sync::kData, slot);
  }
  for (uint32_t slot = 0; slot < kDepth; ++slot) {
    while (!device->finished(slot)) device->wait(1'000'000'000);
  }
  EXPECT_EQ(device->threads(), kDepth);
}

// Holds the last step of the first record's write: the sync, or the write that syncs.
class HeldSync final : public WrappedFiles {
 public:
  int64_t write(int file, uint64_t offset, std::span<const std::byte> bytes, bool synced) override {
    of_this_thread_ = offset;
    if (synced) begin_last_step();
    return WrappedFiles::write(file, offset, bytes, synced);
  }
  int sync(int file) override {
    begin_last_step();
    return WrappedFiles::sync(file);
  }
  int sync_data(int file) override {
    begin_last_step();
    return WrappedFiles::sync_data(file);
  }
  std::atomic<uint64_t> reached{0};  // the offset of the write that began its last step last
  std::atomic<bool> released{false};

 private:
  void begin_last_step() {
    reached = of_this_thread_;
    while (of_this_thread_ == kLogHeaderBytes && !released) std::this_thread::yield();
  }
  static inline thread_local uint64_t of_this_thread_ = 0;
};

// R1: the second write ends before the first, and makes nothing durable. The third write begins
// only when the log has seen that the second has ended.
TEST(FileDevice, WithoutIoUringNoWriteIsDurableBeforeTheWritesBeforeIt) {
  constexpr uint32_t kBlock = 4096;
  ScopedFlags flags;
  flags.set("test", std::string("no_io_uring:1"));
  for (const SyncMethod method : {SyncMethod::kDsync, SyncMethod::kFdatasync, SyncMethod::kFsync}) {
    SCOPED_TRACE(name_of(method));
    const LogDirectory directory;
    HeldSync files;
    const platform::ReplaceFiles replace(files);
    LogOptions options = log_options(*find_scheme("centr"), directory, "file", 1);
    options.sync = method;
    options.io_depth = 2;
    Log log(options);  // without flushers: only poll() writes
    std::vector<CommitPoint> points;
    for (uint64_t i = 0; i < 3; ++i) {
      points.push_back(publish_record(log, 0, i, kBlock).point);
      const uint64_t at = kLogHeaderBytes + i * kBlock;
      while (files.reached != at && !log.scheme().is_durable(points[0])) log.scheme().poll(0);
    }
    for (const CommitPoint& point : points) EXPECT_FALSE(log.scheme().is_durable(point));
    files.released = true;
    while (!log.scheme().is_durable(points.back())) log.scheme().poll(0);
  }
}

// The log's buffer must outlive the write. If it did not, the write would fail with EFAULT.
TEST(FileDevice, ALogIsDestroyedAfterItsLastWrite) {
  ScopedFlags flags;
  flags.set("test", std::string("no_io_uring:1"));
  const LogDirectory directory;
  HeldSync files;
  const platform::ReplaceFiles replace(files);
  std::thread releases;
  {
    LogOptions options = log_options(*find_scheme("centr"), directory, "file", 1);
    options.sync = SyncMethod::kDsync;
    Log log(options);
    publish_record(log, 0, 0, 4096);
    while (files.reached != kLogHeaderBytes) log.scheme().poll(0);
    releases = std::thread([&files] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      files.released = true;
    });
  }
  releases.join();
}

// No write ends too early. The test sets no upper limit, because the machine may delay a write.
TEST(SimDevice, NoWriteIsFinishedBeforeItsLatencyHasPassed) {
  for (const char* spec : {"sim:4000", "nvm:4000000", "faulty:sim:4000"}) {
    for (const bool waits : {true, false}) {
      SCOPED_TRACE(std::string(spec) + (waits ? ", waited for" : ", looked at"));
      const LogDirectory directory;
      const platform::MirroredMemory memory(kBytes);
      const auto device = open_device(spec, {directory.file(), 0, 1});
      const uint64_t begin = platform::now_ns();
      device->start(0, {memory.data(), kBytes}, Sync::kData);
      while (!device->finished()) {
        if (waits) device->wait(1'000'000'000);
      }
      EXPECT_GE(platform::now_ns() - begin, 4'000'000u);
    }
  }
}

}  // namespace
}  // namespace logjam
