// A killed process may leave writes under way. The next process waits for these writes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "logging/device/device_registry.h"
#include "logging/directory_locks.h"
#include "platform/clock.h"
#include "platform/memory.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

constexpr uint64_t kPiece = uint64_t{1} << 20;
constexpr uint32_t kPieces = 16;

// Starts as many writes as the device takes at once, and kills the process during these writes.
void start_writes_and_die(const std::string& path) {
  const auto device = open_device(
      "file", {.path = path, .preallocate_bytes = kPiece * kPieces, .seed = 1, .depth = kPieces});
  const platform::MirroredMemory bytes(kPiece);
  std::memset(bytes.data(), 'x', kPiece);
  for (uint32_t slot = 0; slot < kPieces; ++slot) {
    device->start(slot * kPiece, {bytes.data(), kPiece}, Sync::kData, slot);
  }
  kill(getpid(), SIGKILL);
}

std::string content(const std::string& path) {
  std::string bytes(std::filesystem::file_size(path), '\0');
  std::ifstream(path, std::ios::binary).read(bytes.data(), std::ssize(bytes));
  return bytes;
}

// The test cannot ensure that a write is still under way after the process has ended. On the
// author's machine, 4 to 8 of 64 writes were.
TEST(LateWrites, NoneLandsAfterTheWait) {
  for (int round = 0; round < 2; ++round) {
    const TemporaryDirectory directory;
    const std::string path = directory.path_of("stream-0.log.db");
    const pid_t child = fork();
    if (child == 0) start_writes_and_die(path);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    wait_for_late_writes(path);
    const std::string now = content(path);
    platform::sleep_ns(200'000'000);
    EXPECT_TRUE(now == content(path)) << "round " << round;
  }
}

TEST(LateWrites, TheLockOfALogFileIsWaitedFor) {
  const TemporaryDirectory directory;
  const std::string path = directory.path_of("stream-0.log.db");
  int said[2];
  ASSERT_EQ(pipe2(said, O_NONBLOCK), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto device = open_device("file", {.path = path, .preallocate_bytes = 4096, .seed = 1});
    if (write(said[1], "s", 1) != 1) _exit(1);
    platform::sleep_ns(100'000'000);
    if (write(said[1], "e", 1) != 1) _exit(1);
    _exit(0);
  }
  char byte = 0;
  while (read(said[0], &byte, 1) != 1) platform::yield();
  wait_for_late_writes(path);
  EXPECT_EQ(read(said[0], &byte, 1), 1) << "the other process has not said that it ends";
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace logjam
