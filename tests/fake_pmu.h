// A kernel with a PMU that counts as a test says (platform::PerfCalls). One thread may use it.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>

#include "platform/hardware_counters.h"

namespace logjam {

// Events are numbered as in platform::kHardwareEvents. A descriptor is an event's number.
class FakePmu {
 public:
  // The calls use this object, which must outlive them.
  platform::PerfCalls calls() {
    return {.open = [this](const perf_event_attr& attributes) { return open(attributes); },
            .read = [this](int file) { return read(file); },
            .close = [this](int) { --open_files; }};
  }

  // Lets time pass in which all events are enabled.
  void run(uint64_t ns) {
    for (size_t event = 0; event < totals_.size(); ++event) {
      const double of_time = share.contains(event) ? share[event] : 1;
      const double rate = per_ns.contains(event) ? per_ns[event] : 1;
      const double running = of_time * static_cast<double>(ns);
      totals_[event].enabled_ns += ns;
      totals_[event].running_ns += static_cast<uint64_t>(running);
      totals_[event].count += static_cast<uint64_t>(running * rate);
    }
  }

  void refuse_all(int error) {
    for (size_t event = 0; event < totals_.size(); ++event) errors[event] = error;
  }

  std::map<size_t, int> errors;     // errno of the opening of an event
  std::map<size_t, double> per_ns;  // what an event counts in a nanosecond; 1 if not given
  std::map<size_t, double> share;   // the part of the time in which it counts; 1 if not given
  bool forbids_kernel = false;
  int open_files = 0;
  std::function<void()> reads = [] {};  // called before the reading of each event

 private:
  int open(const perf_event_attr& attributes) {
    const auto found = std::ranges::find_if(platform::kHardwareEvents, [&](const auto& event) {
      return event.type == attributes.type && event.config == attributes.config;
    });
    const auto event = static_cast<size_t>(found - platform::kHardwareEvents.begin());
    if (errors.contains(event)) return -errors[event];
    if (attributes.size != sizeof attributes || attributes.inherit == 0) return -EINVAL;
    if (forbids_kernel && attributes.exclude_kernel == 0) return -EACCES;
    ++open_files;
    return static_cast<int>(event);
  }
  platform::PerfCount read(int file) const {
    reads();
    return totals_[static_cast<size_t>(file)];
  }

  std::array<platform::PerfCount, platform::kHardwareEvents.size()> totals_{};
};

}  // namespace logjam
