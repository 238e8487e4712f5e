// The processor's counters: a fake PMU, and the kernel's software events, which every machine has.
#include "platform/hardware_counters.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <map>
#include <thread>

#include "tests/fake_pmu.h"
#include "tests/temporary_directory.h"

namespace logjam::platform {
namespace {

using Counts = std::vector<std::optional<double>>;

class Pmu : public testing::Test {
 protected:
  // Returns what is counted between two readings.
  HardwareUse use() {
    const HardwareCounters counters(kHardwareEvents, pmu_.calls(), kernel());
    const HardwareReading before = counters.read();
    pmu_.run(1000);
    return counters.use(counters.read().since(before));
  }
  KernelFiles kernel() const { return {.root = root_.path()}; }
  void set_paranoid(const std::string& level) {
    std::filesystem::create_directories(root_.path() + "/proc/sys/kernel");
    std::ofstream(root_.path() + "/proc/sys/kernel/perf_event_paranoid") << level << "\n";
  }

  const TemporaryDirectory root_;
  FakePmu pmu_;
};

TEST_F(Pmu, CountsAreThoseOfTheIntervalAndNotOfTheTimeBefore) {
  pmu_.per_ns = {{0, 3}, {1, 2}, {2, 0.5}, {3, 0.25}};
  pmu_.run(500);
  const HardwareUse used = use();
  EXPECT_EQ(used.counts, (Counts{3000, 2000, 500, 250}));
  EXPECT_EQ(used.note, "");
  EXPECT_EQ(pmu_.open_files, 0) << "all are closed";
}

TEST_F(Pmu, EventsThatTakeTurnsAreScaledAndNamed) {
  pmu_.share[2] = 0.25;
  pmu_.share[3] = 0.5;
  const HardwareUse used = use();
  EXPECT_EQ(used.counts, (Counts{1000, 1000, 1000, 1000}));
  EXPECT_EQ(
      used.note,
      "scaled, because events took turns and counted for a part of the time: LLC misses 25 %, "
      "TLB misses 50 %");
}

TEST_F(Pmu, AnEventThatThePmuDoesNotHaveIsMissingAndTheOthersStay) {
  pmu_.errors[2] = ENOENT;
  const HardwareUse used = use();
  EXPECT_EQ(used.counts, (Counts{1000, 1000, std::nullopt, 1000}));
  EXPECT_EQ(used.note, "no LLC misses: the PMU does not count them");
}

TEST_F(Pmu, NoCountIsZero) {
  pmu_.share[0] = 0;   // another program has the counter
  pmu_.per_ns[1] = 0;  // some hypervisors show a counter that does not count
  const HardwareUse used = use();
  EXPECT_EQ(used.counts, (Counts{std::nullopt, std::nullopt, 1000, 1000}));
  EXPECT_EQ(used.note,
            "no cycles: other programs had the counter all the time; no instructions: the counter "
            "stood still");
}

TEST_F(Pmu, AMachineWithoutPmuSaysSo) {
  for (const int error : {ENOENT, ENODEV, EOPNOTSUPP}) {
    pmu_.refuse_all(error);
    const HardwareUse used = use();
    EXPECT_TRUE(used.counts.empty());
    EXPECT_EQ(used.note, "the kernel sees no PMU: many virtual machines have none");
  }
}

TEST_F(Pmu, AKernelThatForbidsCountersSaysSo) {
  set_paranoid("4");
  for (const int error : {EACCES, EPERM}) {
    pmu_.refuse_all(error);
    const HardwareUse used = use();
    EXPECT_TRUE(used.counts.empty());
    EXPECT_EQ(used.note,
              "the kernel forbids hardware counters: perf_event_paranoid is 4, and a container may "
              "forbid them too");
  }
}

TEST_F(Pmu, OtherErrorsAreNamed) {
  pmu_.refuse_all(ENOSYS);
  EXPECT_EQ(use().note, "this kernel has no perf_event_open");
  pmu_.refuse_all(EMFILE);
  EXPECT_EQ(use().note, "perf_event_open fails: Too many open files");
}

TEST_F(Pmu, WhereTheKernelIsNotCountedTheNoteSaysUserMode) {
  set_paranoid("2");
  pmu_.forbids_kernel = true;
  const HardwareUse used = use();
  EXPECT_EQ(used.counts, (Counts{1000, 1000, 1000, 1000}));
  EXPECT_EQ(used.note, "user mode alone, because perf_event_paranoid is 2");
}

TEST_F(Pmu, ARunWithoutMeasuredTimeHasNoCounts) {
  const HardwareCounters counters(kHardwareEvents, pmu_.calls(), kernel());
  EXPECT_EQ(counters.use({}).counts, Counts(4));
  EXPECT_EQ(counters.use({}).note, "");
}

// The kernel's own events, by which the real calls are tested on a machine without a PMU.
constexpr std::array<CountedEvent, 3> kSoftwareEvents{{
    {"task clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"context switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
}};
constexpr size_t kPages = 300;

// Returns the page faults of this process, as the kernel counts them for getrusage().
int64_t faults_of_process() {
  rusage used{};
  EXPECT_EQ(getrusage(RUSAGE_SELF, &used), 0);
  return used.ru_minflt + used.ru_majflt;
}

// Touches kPages pages of new memory. A sanitizer's shadow may add faults of its own.
void fault() {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* memory =
      mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, kPages * page, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < kPages; ++i) static_cast<volatile char*>(memory)[i * page] = 1;
  munmap(memory, kPages * page);
}

TEST(SoftwareEvents, ThreadsThatStartAfterTheOpeningCountWhileTheyRunAndAfterThem) {
  const HardwareCounters counters(kSoftwareEvents);
  int64_t faults_before = faults_of_process();
  const HardwareReading start = counters.read();
  const HardwareUse nothing = counters.use({});
  if (nothing.counts.empty()) GTEST_SKIP() << nothing.note;
  int to_thread[2], from_thread[2];
  ASSERT_EQ(pipe(to_thread) | pipe(from_thread), 0);
  char byte = 0;
  std::thread thread([&] {
    for (int round = 0; round < 2; ++round) {
      fault();
      char mine = 0;
      EXPECT_EQ(write(from_thread[1], &mine, 1), 1);
      EXPECT_EQ(read(to_thread[0], &mine, 1), 1);  // sleeps, which is a context switch
    }
  });
  HardwareReading last = start;
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(read(from_thread[0], &byte, 1), 1);
    if (round == 1) {
      ASSERT_EQ(write(to_thread[1], &byte, 1), 1);
      thread.join();
    }
    const int64_t faults_so_far = faults_of_process();
    const HardwareReading now = counters.read();
    const HardwareUse used = counters.use(now.since(last));
    const int64_t faults_of_round = faults_of_process() - faults_before;
    faults_before = faults_so_far;
    ASSERT_EQ(used.counts.size(), 3u);
    EXPECT_GT(used.counts[0].value_or(0), 0) << round;
    EXPECT_GE(used.counts[1].value_or(0), kPages) << round;
    // The kernel counts a fault that it tries twice once here and twice there.
    EXPECT_LT(used.counts[1].value_or(0), faults_of_round + kPages / 2)
        << "and not the round before";
    last = now;
    if (round == 1) break;
    ASSERT_EQ(write(to_thread[1], &byte, 1), 1);
  }
  EXPECT_GT(counters.use(last.since(start)).counts[2].value_or(0), 0);
  for (const int file : {to_thread[0], to_thread[1], from_thread[0], from_thread[1]}) close(file);
}

}  // namespace
}  // namespace logjam::platform
