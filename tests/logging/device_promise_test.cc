// A device syncs bytes before it reports them as durable. Simulated writes take the full latency.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <fstream>

#include "logging/device/device_registry.h"
#include "platform/clock.h"
#include "platform/fatal.h"
#include "platform/memory.h"
#include "tests/logging/log_fixture.h"

namespace logjam {
namespace {

constexpr uint64_t kBytes = 8192;

// Makes fdatasync(), fsync() and pwritev2() with a sync flag fail with EIO in this thread.
void fail_syncs() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fdatasync, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fsync, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwritev2, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[5])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, RWF_DSYNC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EIO),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof filter / sizeof filter[0], filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    platform::fatal("this machine does not let a process filter its own system calls");
  }
}

// R1 and R7: no write with Sync::kData finishes without a sync. If the device skipped the sync,
// this test would see the write reported as durable.
TEST(FailureDeathTest, AWriteIsDurableOnlyAfterItsSync) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const char* spec : {"sync", "file"}) {
    SCOPED_TRACE(spec);
    const LogDirectory directory;
    const auto write = [&](Sync sync) {
      const platform::MirroredMemory memory(kBytes);
      const auto device = open_device(spec, {directory.file(), 0, 1});
      fail_syncs();
      device->start_and_wait(0, {memory.data(), kBytes}, sync, 1'000'000);
      while (!device->finished()) device->wait(1'000'000);
      std::_Exit(0);
    };
    EXPECT_EXIT(write(Sync::kData), testing::ExitedWithCode(3),
                "cannot write and sync the log file .*: Input/output error");
    EXPECT_EXIT(write(Sync::kNone), testing::ExitedWithCode(0), "");
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

// The test reads the request from the queue that the device shares with the kernel.
TEST(FileDevice, AnAsynchronousWriteAsksForItsSync) {
  const LogDirectory directory;
  const platform::MirroredMemory memory(kBytes);
  const auto device = open_device("file", {directory.file(), 0, 1});
  const io_uring_sqe* entries = submission_entries();
  ASSERT_NE(entries, nullptr);
  int entry = 0;
  for (const Sync sync : {Sync::kData, Sync::kNone}) {
    device->start(4096, {memory.data(), kBytes}, sync);
    while (!device->finished()) device->wait(1'000'000);
    EXPECT_EQ(entries[entry].opcode, IORING_OP_WRITE);
    EXPECT_EQ(entries[entry].off, 4096u);
    EXPECT_EQ(entries[entry].len, kBytes);
    EXPECT_EQ(entries[entry].rw_flags, sync == Sync::kData ? RWF_DSYNC : 0);
    ++entry;
  }
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
