#include "platform/hardware_counters.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <utility>

#include "platform/assert.h"
#include "platform/files.h"
#include "platform/host.h"
#include "platform/text.h"

namespace logjam::platform {
namespace {

constexpr char kSimulated[] = "a simulated machine has no hardware counters";

// A count whose time runs shorter by less than this share is not worth a note.
constexpr double kLeastNamedShare = 0.005;

bool is_forbidden(int error) { return error == EACCES || error == EPERM; }

// Returns whether the kernel says that no PMU has the event.
bool is_unknown(int error) {
  return error == ENOENT || error == ENODEV || error == ENXIO || error == EOPNOTSUPP;
}

}  // namespace

PerfCalls kernel_perf_calls() {
  return {.open =
              [](const perf_event_attr& attributes) {
                perf_event_attr copy = attributes;  // the kernel may write into it
                const auto file = syscall(SYS_perf_event_open, &copy, 0, -1, -1,
                                          static_cast<unsigned long>(PERF_FLAG_FD_CLOEXEC));
                return file < 0 ? -errno : static_cast<int>(file);
              },
          .read =
              [](int file) {
                PerfCount count;
                const bool whole = ::read(file, &count, sizeof count) == sizeof count;
                return whole ? count : PerfCount();
              },
          .close = [](int file) { ::close(file); }};
}

HardwareReading HardwareReading::since(const HardwareReading& earlier) const {
  LJ_ASSERT(counts.size() == earlier.counts.size());
  HardwareReading interval = *this;
  for (size_t i = 0; i < counts.size(); ++i) {
    interval.counts[i].count -= earlier.counts[i].count;
    interval.counts[i].enabled_ns -= earlier.counts[i].enabled_ns;
    interval.counts[i].running_ns -= earlier.counts[i].running_ns;
  }
  return interval;
}

HardwareCounters::HardwareCounters(std::span<const CountedEvent> events, PerfCalls calls,
                                   const KernelFiles& kernel)
    : calls_(std::move(calls)) {
  if (is_simulated()) return;
  for (const CountedEvent& event : events) open(event);
  const bool forbidden =
      std::ranges::any_of(events_, [](const Event& event) { return is_forbidden(event.error); });
  if (user_only_ || forbidden) paranoid_ = kernel.word("/proc/sys/kernel/perf_event_paranoid");
}

HardwareCounters::~HardwareCounters() {
  for (const Event& event : events_) {
    if (event.file >= 0) calls_.close(event.file);
  }
}

// Opens the event for user mode alone if the kernel forbids to count kernel mode.
void HardwareCounters::open(const CountedEvent& wanted) {
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = wanted.type;
  attributes.config = wanted.config;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attributes.inherit = 1;
  int file = calls_.open(attributes);
  if (is_forbidden(-file)) {
    attributes.exclude_kernel = 1;
    file = calls_.open(attributes);
    user_only_ = user_only_ || file >= 0;
  }
  events_.push_back({wanted.name, file, file < 0 ? -file : 0});
}

bool HardwareCounters::any_open() const {
  return std::ranges::any_of(events_, [](const Event& event) { return event.file >= 0; });
}

HardwareReading HardwareCounters::read() const {
  HardwareReading reading;
  if (!any_open()) return reading;
  for (const Event& event : events_) {
    reading.counts.push_back(event.file < 0 ? PerfCount() : calls_.read(event.file));
  }
  return reading;
}

// Returns why no event is open.
std::string HardwareCounters::why_none() const {
  if (is_simulated()) return kSimulated;
  const int error = events_.front().error;
  if (is_unknown(error)) {
    return "the kernel sees no PMU: many virtual machines have none";
  }
  if (is_forbidden(error)) {
    return "the kernel forbids hardware counters: perf_event_paranoid is " +
           (paranoid_.empty() ? "unknown" : paranoid_) + ", and a container may forbid them too";
  }
  if (error == ENOSYS) return "this kernel has no perf_event_open";
  return "perf_event_open fails: " + error_text(error);
}

HardwareUse HardwareCounters::use(const HardwareReading& interval) const {
  if (!any_open()) return {.counts = {}, .note = why_none()};
  HardwareUse use;
  std::string taking_turns;
  for (size_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    const std::string name(event.name);
    std::optional<double>& count = use.counts.emplace_back();
    const auto missing = [&](const std::string& why) {
      append_part(&use.note, "; ", "no " + name + ": " + why);
    };
    if (event.file < 0) {
      missing(is_unknown(event.error) ? "the PMU does not count them" : error_text(event.error));
      continue;
    }
    if (interval.counts.empty()) continue;
    const PerfCount& counted = interval.counts[i];
    if (counted.running_ns == 0) {
      missing("other programs had the counter all the time");
    } else if (counted.count == 0) {
      missing("the counter stood still");
    } else {
      const auto enabled = static_cast<double>(counted.enabled_ns),
                 running = static_cast<double>(counted.running_ns);
      count = static_cast<double>(counted.count) * enabled / running;
      if (running < (1 - kLeastNamedShare) * enabled) {
        append_part(&taking_turns, ", ",
                    name + " " + short_number(std::round(100 * running / enabled)) + " %");
      }
    }
  }
  if (!taking_turns.empty()) {
    append_part(
        &use.note, "; ",
        "scaled, because events took turns and counted for a part of the time: " + taking_turns);
  }
  if (user_only_) {
    append_part(&use.note, "; ", "user mode alone, because perf_event_paranoid is " + paranoid_);
  }
  return use;
}

}  // namespace logjam::platform
