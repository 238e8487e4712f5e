// The tails of a distributed log, while another worker reserves and commits.
#include "logging/schemes/aether/tails.h"

#include <gtest/gtest.h>

#include <memory>

#include "platform/atomic.h"
#include "tests/logging/stepped_atomics.h"

namespace logjam {
namespace {

// A log of which only the tail and the clock are there.
struct TailAndClock {
  using Number = SteppedAtomics::atomic<uint64_t>;
  struct {
    Number next{0};
    uint64_t reserved() const { return next.load(platform::memory_order_acquire); }
  } buffer;
  struct {
    Number number{0};
    uint64_t now() const { return number.load(platform::memory_order_acquire); }
  } clock;
};

// A worker reserves a record in log 1, draws its GSN, and raises the clock of log 0.
TEST(Tails, ARecordUpToTheLeastClockLiesBeforeTheTails) {
  std::vector<std::unique_ptr<TailAndClock>> logs(2);
  std::vector<uint64_t> tails(2);
  uint64_t least = 0;
  const auto begin = [&] {
    for (auto& log : logs) log = std::make_unique<TailAndClock>();
  };
  const auto load = [&] { least = load_tails(logs, tails); };
  const auto commit = [&] {
    logs[1]->buffer.next.store(64, platform::memory_order_release);
    logs[1]->clock.number.fetch_add(1, platform::memory_order_acq_rel);
    logs[0]->clock.number.fetch_add(1, platform::memory_order_acq_rel);
  };
  int seen = 0;
  const auto check = [&] {
    seen += least == 1;
    EXPECT_TRUE(least == 0 || tails[1] == 64) << "a commit would not wait for the record";
  };
  EXPECT_EQ(SteppedAtomics::interleave(begin, load, commit, check), 5) << "four loads, and the end";
  EXPECT_GE(SteppedAtomics::interleave(begin, commit, load, check), 4);
  EXPECT_GE(seen, 2);
}

}  // namespace
}  // namespace logjam
