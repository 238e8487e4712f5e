#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "platform/atomic.h"
#include "platform/cpu_use.h"
#include "platform/fatal.h"
#include "platform/kernel_files.h"
#include "platform/persist.h"
#include "platform/text.h"
#include "platform/thread.h"
#include "sim/measure/costs.h"

namespace logjam::platform {
namespace {

// Collects lines `key = value  # source`, with the sources in one column.
class ProfileText {
 public:
  explicit ProfileText(double ghz) : ghz_(ghz) {}

  void comment(const std::string& text) { text_ += "# " + text + "\n"; }
  void text(const std::string& key, const std::string& value) {
    text_ += key + " = \"" + value + "\"\n";
  }
  void measured(const std::string& key, double value, int decimals, const std::string& how) {
    line(key, with_decimals(value, decimals), "measured by logjam machine: " + how);
  }
  void assumed(const std::string& key, double value, int decimals, const std::string& why) {
    line(key, with_decimals(value, decimals), "assumed: " + why);
  }
  void told(const std::string& key, int value, const std::string& where) {
    measured(key, value, 0, where);
  }
  // Writes the size and ways of a cache that the kernel describes, with the keys NAME_kib and
  // NAME_ways. Some virtual machines describe no caches.
  void cache(const std::string& name, const CacheShape& shape) {
    const bool known = shape.kib != 0 && shape.ways != 0;
    const std::string source = known ? "the kernel's list of caches" : "the kernel tells nothing";
    const auto write = known ? &ProfileText::measured : &ProfileText::assumed;
    (this->*write)(name + "_kib", known ? static_cast<double>(shape.kib) : 32, 0, source);
    (this->*write)(name + "_ways", known ? shape.ways : 8, 0, source);
  }
  void cycles(const std::string& key, double ns, const std::string& how) {
    measured(key, ns * ghz_, 0, how);
  }
  void assumed_cycles(const std::string& key, double ns, const std::string& why) {
    assumed(key, ns * ghz_, 0, why);
  }
  const std::string& all() const { return text_; }

 private:
  void line(const std::string& key, const std::string& value, const std::string& source) {
    constexpr size_t kSourceColumn = 30;
    std::string text = key + " = " + value;
    if (text.size() < kSourceColumn) text.resize(kSourceColumn, ' ');
    text_ += text + "# " + source + "\n";
  }

  const double ghz_;
  std::string text_;
};

// The assumed price of a transfer from another socket, as a multiple of the price within a socket.
constexpr double kAssumedHop = 2.5;

struct SocketCosts {
  double clean_ns, dirty_ns, upgrade_ns, memory_ns;
};

void write_sockets(ProfileText& profile, const MachineShape& shape, const SocketCosts& near,
                   uint32_t repetitions) {
  const bool seen = shape.other_socket >= 0;
  SocketCosts far = {kAssumedHop * near.clean_ns, kAssumedHop * near.dirty_ns,
                     kAssumedHop * near.upgrade_ns, 1.6 * near.memory_ns};
  if (seen) {
    const LineCosts lines = line_costs(0, shape.other_socket, repetitions);
    far = {lines.clean_ns, lines.dirty_ns, lines.upgrade_ns,
           memory_ns(0, shape.other_socket, repetitions)};
  }
  const auto hop = [&](const std::string& key, double ns, double near_ns) {
    ns = std::max(ns, near_ns);
    if (seen) {
      profile.cycles("hop_" + key, ns, "as without a hop");
    } else {
      profile.assumed_cycles("hop_" + key, ns, "one socket here; a multiple of its own number");
    }
  };
  hop("clean_cycles", far.clean_ns, near.clean_ns);
  hop("dirty_cycles", far.dirty_ns, near.dirty_ns);
  hop("upgrade_cycles", far.upgrade_ns, near.upgrade_ns);
  profile.cycles("memory_cycles", near.memory_ns, "chase of pointers, evicted lines");
  hop("memory_cycles", far.memory_ns, near.memory_ns);
}

void write_context_share(ProfileText& profile, const MachineShape& shape, uint32_t repetitions) {
  if (shape.contexts == 1) return;
  if (shape.sibling < 0) {
    profile.assumed("context_share", 0.7, 1, "the other contexts may not be used here");
  } else {
    const double slowdown = slowdown_beside(0, shape.sibling, repetitions);
    profile.measured("context_share", std::clamp(slowdown / 2, 0.1, 1.0), 2,
                     "half the time that a loop takes on both contexts");
  }
}

// Writes the memory's bandwidth. If each core reads as fast together with all other cores as alone,
// the cores have not reached the limit, and the bandwidth is an assumed number.
void write_bandwidth(ProfileText& profile, const MemoryCosts& memory) {
  constexpr double kMetALimit = 0.8, kAssumedRest = 4;
  const double alone_gb_s = kShortestLine / memory.stream_ns * memory.readers;
  if (memory.gb_s < kMetALimit * alone_gb_s) {
    profile.measured("memory_gb_s", memory.gb_s, 1, "all allowed cores read it in order");
  } else {
    profile.assumed("memory_gb_s", kAssumedRest * memory.gb_s, 0,
                    std::to_string(memory.readers) + " cores read " +
                        with_decimals(memory.gb_s, 1) + ", as fast as alone: no limit seen");
  }
}

void write_time_slice(ProfileText& profile) {
  const std::string slice = KernelFiles().word("/sys/kernel/debug/sched/base_slice_ns");
  if (slice.empty()) {
    profile.assumed("time_slice_us", 3000, 0, "Linux with 8 cores and more");
  } else {
    profile.measured("time_slice_us", std::strtod(slice.c_str(), nullptr) / 1e3, 0,
                     "the kernel's base_slice_ns");
  }
}

constexpr const char* kChase = "chase of pointers through a part";

void write_machine(ProfileText& profile, const MachineShape& shape, const CoreCosts& core) {
  profile.text("name", shape.name.empty() ? "this machine" : shape.name);
  profile.measured("ghz", core.ghz, 2, "a chain of additions, one a cycle");
  profile.told("sockets", shape.sockets, "the kernel's packages");
  profile.told("cores", shape.cores, "the kernel's list of siblings");
  profile.told("contexts", shape.contexts, "the kernel's list of siblings");
  profile.text("interconnect", "full");
  profile.measured("instructions_per_cycle", core.instructions_per_cycle, 2,
                   "hashes, loads, branches in the L1");
}

void write_caches(ProfileText& profile, const MachineShape& shape, const MemoryCosts& memory) {
  profile.cache("l1", shape.l1);
  if (shape.l2.kib != 0) {
    profile.cache("l2", shape.l2);
    profile.cycles("l2_cycles", memory.l2_ns, kChase);
  } else {
    profile.assumed("l2_kib", 0, 0, "the kernel tells of no L2");
  }
  profile.measured("l3_mib", static_cast<double>(memory.l3_mib), 0,
                   "slower beyond; the kernel says " + std::to_string(shape.l3.kib >> 10));
  profile.measured("l3_ways", std::max(shape.l3.ways, 1u), 0, "the kernel's list of caches");
}

void write_core(ProfileText& profile, const CoreCosts& core, const LineCosts& lines) {
  profile.cycles("rmw_cycles", core.rmw_ns, "fetch-add, less an increment");
  profile.cycles("fence_cycles", core.fence_ns, "full_fence() in a loop");
  profile.cycles("pause_cycles", core.pause_ns, "pause() in a loop");
  profile.cycles("ticks_cycles", core.ticks_ns, "ticks() in a loop");
  if (lines.contended_fetch_add_ns == 0) {
    profile.assumed("occupancy", 0.5, 1, "the two cores were too busy to contend");
  } else {
    profile.measured("occupancy",
                     std::clamp(lines.contended_fetch_add_ns / lines.dirty_ns, 0.05, 1.0), 2,
                     "two cores' fetch-add, over dirty");
  }
  profile.assumed("store_buffer", 64, 0, "between Haswell's 42 and Golden Cove's 112, remembered");
}

// Writes the costs of loads and stores in order, which a core does not wait for one by one.
void write_streams(ProfileText& profile, const MachineShape& shape, const MemoryCosts& memory) {
  const bool has_l3 = shape.l3.kib != 0;
  profile.measured("overlap", memory.overlap, 1, "four independent chases against one");
  profile.cycles("stream_cycles", memory.stream_ns, "evicted lines read in order");
  profile.cycles("stream_store_cycles", memory.stream_store_ns, "256 MiB written in order");
  profile.cycles("l3_stream_cycles", has_l3 ? memory.l3_stream_ns : memory.stream_ns,
                 has_l3 ? "lines of the L3 read in order" : "no L3: as stream_cycles");
  profile.assumed("lines_ahead", 2, 0, "calibrated once, for config/machines/this.toml");
}

void write_kernel(ProfileText& profile, const KernelCosts& kernel) {
  profile.measured("syscall_ns", kernel.syscall_ns, 0, "sched_yield, alone");
  profile.measured("context_switch_ns", kernel.context_switch_ns, 0, "two threads' sched_yield");
  profile.measured("futex_wait_ns", kernel.futex_wait_ns, 0, "a sleeper's time on its core");
  profile.measured("futex_wake_ns", kernel.futex_wake_ns, 0, "the call, sleeper on another core");
  profile.measured("wake_latency_ns", kernel.wake_latency_ns, 0, "until the sleeper reads a clock");
  profile.measured("timer_late_ns", kernel.timer_late_ns, 0, "sleep of 100 us, 1 ns of slack");
  write_time_slice(profile);
}

// Writes notes about the measurement for human readers of the profile.
void write_comments(ProfileText& profile, const MachineShape& shape, const LineCosts& lines,
                    double slowdown, bool undisturbed) {
  constexpr double kSharedCore = 1.3;  // more: the two contexts probably share a core
  const auto ns = [](double value) { return with_decimals(value, 1) + " ns"; };
  profile.comment("Written by `logjam machine`, Linux " + shape.kernel + ".");
  profile.comment("Between two cores: a line goes from one compare-and-swap to the other in " +
                  ns(lines.hand_off_ns) + ";");
  profile.comment("a fetch-add takes " + ns(lines.contended_fetch_add_ns) +
                  " while both add to the line; a load of a line that the other");
  profile.comment("has only read takes " + ns(lines.clean_ns) + ".");
  if (shape.same_socket < 0 && shape.sibling >= 0) {
    profile.comment(
        "The kernel says that these are two contexts of one core, and there is no other.");
  } else if (slowdown > kSharedCore) {
    profile.comment("Each is " + with_decimals(slowdown, 2) +
                    " times as slow while the other computes: two contexts of one core, or others");
    profile.comment("used them meanwhile. The kernel says that these are two cores.");
  }
  if (!undisturbed) {
    profile.comment(
        "Other programs used the processor meanwhile: measure again on an idle machine.");
  }
}

}  // namespace

std::string measured_profile(uint32_t repetitions) {
  const MachineShape shape = machine_shape(KernelFiles(), allowed_cores());
  const int other = shape.same_socket >= 0 ? shape.same_socket : shape.sibling;
  if (other < 0) refuse("logjam machine needs two cores of a socket; it may use one");
  const bool undisturbed = others_are_idle(2);

  const auto core = core_costs(0, repetitions);
  const auto memory = memory_costs(shape, repetitions);
  const auto lines = line_costs(0, other, repetitions);
  const auto kernel = kernel_costs(0, other, repetitions);
  const double slowdown = slowdown_beside(0, other, repetitions);

  ProfileText profile(core.ghz);
  write_comments(profile, shape, lines, slowdown, undisturbed);
  write_machine(profile, shape, core);
  write_context_share(profile, shape, repetitions);
  write_caches(profile, shape, memory);
  const double clean_ns = shape.l3.kib != 0 ? memory.l3_ns : lines.clean_ns;
  profile.cycles("l3_cycles", clean_ns, kChase);
  profile.cycles("dirty_cycles", lines.dirty_ns, "chase of lines another core wrote");
  profile.cycles("upgrade_cycles", lines.upgrade_ns, "fetch-add of a line both have");
  write_sockets(profile, shape, {clean_ns, lines.dirty_ns, lines.upgrade_ns, memory.memory_ns},
                repetitions);
  write_bandwidth(profile, memory);
  write_core(profile, core, lines);
  write_streams(profile, shape, memory);
  profile.measured("clock_ns", core.clock_ns, 1, "now_ns() in a loop");
  profile.measured("allocation_ns", core.allocation_ns, 1, "pairs of malloc and free");
  write_kernel(profile, kernel);
  profile.measured("write_back_ns", memory.write_back_ns, 0,
                   std::string(write_back_instruction()) + " and a fence");
  profile.measured("write_back_line_ns", memory.write_back_line_ns, 1, "64 lines before a fence");
  return profile.all();
}

}  // namespace logjam::platform
