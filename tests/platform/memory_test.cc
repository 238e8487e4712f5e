// Memory from the kernel. This machine may have only one node, so the tests invent node numbers.
#include "platform/memory.h"

#include <gtest/gtest.h>
#include <numaif.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "platform/fatal.h"
#include "tests/system_call_filter.h"

namespace logjam::platform {
namespace {

constexpr size_t kBytes = size_t{4} << 20;

// The sizes are with and without huge pages.
TEST(MirroredMemory, TheSecondHalfIsTheFirst) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (const size_t size : {page, size_t{2} << 20, size_t{3} << 20, size_t{4} << 20}) {
    const MirroredMemory memory(size);
    ASSERT_EQ(memory.size(), size);
    for (size_t at = 0; at < size; at += 4096) {
      const uint64_t below = at + 1, above = ~at;
      std::memcpy(memory.data() + at, &below, sizeof below);
      ASSERT_EQ(std::memcmp(memory.data() + size + at, &below, sizeof below), 0)
          << size << ' ' << at;
      std::memcpy(memory.data() + size + at, &above, sizeof above);
      ASSERT_EQ(std::memcmp(memory.data() + at, &above, sizeof above), 0) << size << ' ' << at;
    }
  }
}

// A filter of system calls takes the place of a machine without memory, and of Linux before 5.14.
TEST(MirroredMemoryDeathTest, WithoutMemoryTheProcessEnds) {
  const auto populate_fails = [](uint32_t error) {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_POPULATE_WRITE, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    filter_system_calls(filter);
    const MirroredMemory memory(kBytes);
    _exit(0);
  };
  EXPECT_EXIT(populate_fails(ENOMEM), testing::ExitedWithCode(kExitFailed),
              "no memory for a log buffer of 4194304 bytes");
  EXPECT_EXIT(populate_fails(EINVAL), testing::ExitedWithCode(0), "");
}

struct Policy {
  int mode = -1;
  unsigned long nodes[16] = {};
};

Policy policy_at(void* address) {
  Policy policy;
  EXPECT_EQ(
      get_mempolicy(&policy.mode, policy.nodes, sizeof policy.nodes * 8, address, MPOL_F_ADDR), 0);
  return policy;
}

class MemoryNode : public testing::Test {
 protected:
  void SetUp() override {
    if (!place_on_numbered(memory_, kBytes, {0})) GTEST_SKIP() << "the kernel forbids mbind()";
  }
  void TearDown() override { unmap_huge(memory_, kBytes); }

  void* const memory_ = map_huge(kBytes);
};

TEST_F(MemoryNode, OneNodeIsPreferredForAllPages) {
  for (const size_t at : {size_t{0}, kBytes - 1}) {
    const Policy policy = policy_at(static_cast<std::byte*>(memory_) + at);
    EXPECT_EQ(policy.mode, MPOL_PREFERRED);
    EXPECT_EQ(policy.nodes[0], 1u);
  }
}

// The kernel ignores node numbers that this machine does not have.
TEST_F(MemoryNode, SeveralNodesAreInterleaved) {
  ASSERT_TRUE(place_on_numbered(memory_, kBytes, {0, 1}));
  const Policy policy = policy_at(memory_);
  EXPECT_EQ(policy.mode, MPOL_INTERLEAVE);
  EXPECT_EQ(policy.nodes[0] & 1, 1u);
}

TEST_F(MemoryNode, ANodeThatThereIsNotChangesNothing) {
  EXPECT_FALSE(place_on_numbered(memory_, kBytes, {1000}));
  EXPECT_FALSE(place_on_numbered(memory_, kBytes, {}));
  EXPECT_EQ(policy_at(memory_).mode, MPOL_PREFERRED);
}

TEST_F(MemoryNode, TheMemoryCanBeUsedWhereverItLies) {
  for (const int where : {kFirstTouch, kEveryNode, 0, 1, 63}) {
    const MirroredMemory ring(kBytes, where);
    ring.data()[kBytes + 5] = std::byte{7};
    EXPECT_EQ(ring.data()[5], std::byte{7}) << where;
  }
}

}  // namespace
}  // namespace logjam::platform
