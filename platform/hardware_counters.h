// The processor's counters of events such as cycles and cache misses, through perf_event_open(2).
//
// Each event is opened once for the process, with `inherit`: the kernel then counts every thread
// that starts after the opening, and adds up all threads when the event is read. So the threads of
// the log, of libraries and of io_uring count, and no thread needs a descriptor. The events are in
// no group, because before Linux 6.13 the kernel refuses to read a group whose events are
// inherited.
//
// If other programs or a hypervisor use some counters of the PMU, the kernel lets the events take
// turns. It says for how long an event was enabled, and for how long it was counted. The count is
// then scaled by the quotient of the two times, and the note says so.
//
// One thread at a time may use an object.
#pragma once

#include <linux/perf_event.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/kernel_files.h"

namespace logjam::platform {

struct CountedEvent {
  std::string_view name;  // in the note's sentences
  uint32_t type;          // perf_event_attr::type
  uint64_t config;        // perf_event_attr::config
};

// Returns the event of the reads that miss in this cache.
constexpr uint64_t misses_of_reads(uint64_t cache) {
  return cache | uint64_t{PERF_COUNT_HW_CACHE_OP_READ} << 8 |
         uint64_t{PERF_COUNT_HW_CACHE_RESULT_MISS} << 16;
}
// The kernel's PERF_COUNT_HW_CACHE_MISSES is not among the events, because it means the misses of
// the L2 on AMD's processors, and of the L1 on Arm's.
inline constexpr std::array<CountedEvent, 4> kHardwareEvents{{
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"LLC misses", PERF_TYPE_HW_CACHE, misses_of_reads(PERF_COUNT_HW_CACHE_LL)},
    {"TLB misses", PERF_TYPE_HW_CACHE, misses_of_reads(PERF_COUNT_HW_CACHE_DTLB)},
}};

// The kernel's answer to a read of an event, in the order of its bytes.
struct PerfCount {
  uint64_t count = 0, enabled_ns = 0, running_ns = 0;
};

// The calls of the kernel. A test sets functions that behave as the kernel of another machine.
struct PerfCalls {
  // Begins to count, in the calling thread and in all threads that it starts. Returns a descriptor,
  // or -errno.
  std::function<int(const perf_event_attr& attributes)> open;
  // Returns the count since the opening, or zeros if the kernel gives none.
  std::function<PerfCount(int file)> read;
  std::function<void(int file)> close;
};
PerfCalls kernel_perf_calls();

// The counts of the open events, since the opening or in an interval.
struct HardwareReading {
  std::vector<PerfCount> counts;

  HardwareReading since(const HardwareReading& earlier) const;
};

struct HardwareUse {
  std::vector<std::optional<double>> counts;  // by event; empty if no event is open
  // Why counts are missing, scaled, or of user mode alone; empty: nothing to say.
  std::string note;
};

class HardwareCounters {
 public:
  // Opens the events that the kernel allows. Call it before the threads start that shall count. On
  // a simulated machine it opens none.
  explicit HardwareCounters(std::span<const CountedEvent> events = kHardwareEvents,
                            PerfCalls calls = kernel_perf_calls(), const KernelFiles& kernel = {});
  ~HardwareCounters();
  HardwareCounters(const HardwareCounters&) = delete;
  HardwareCounters& operator=(const HardwareCounters&) = delete;

  HardwareReading read() const;
  // Returns what was counted in an interval; nothing if `interval` is empty.
  HardwareUse use(const HardwareReading& interval) const;

 private:
  struct Event {
    std::string_view name;
    int file;   // negative: the event is not open
    int error;  // why it is not open; 0: it is
  };
  bool any_open() const;
  std::string why_none() const;
  void open(const CountedEvent& wanted);

  const PerfCalls calls_;
  std::string paranoid_;  // the text of perf_event_paranoid, if the kernel has forbidden an event
  std::vector<Event> events_;
  bool user_only_ = false;
};

}  // namespace logjam::platform
