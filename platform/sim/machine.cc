#include "platform/sim/machine.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <bit>

#include "platform/fatal.h"

DEFINE_string(machine, "this",
              "the machine to simulate: a file of config/machines/ without its ending, or a path");
DEFINE_uint32(cores, 0, "hardware contexts of the simulated machine that are used; 0: all");
DECLARE_uint32(sockets);  // of cli/settings.cc
DEFINE_string(set, "", "key=value,...: these numbers in place of those of the machine's profile");
DEFINE_uint64(sim_seed, 1, "what differs between two simulations of the same flags");

namespace logjam::sim {
namespace {

// Assumed. Intel's optimization manual: about 10 before Skylake, up to 140 since.
constexpr double kPauseCycles = 40;
// A core goes on until its oldest store that misses is this many cycles old, for each entry of its
// store buffer: about one instruction in four stores.
constexpr double kCyclesAStore = 4;

Machine make_machine() {
  Machine made{};
  made.profile = read_profile(FLAGS_machine, FLAGS_set);
  made.seed = FLAGS_sim_seed;
  Profile& p = made.profile;
  if (FLAGS_sockets != 0) p.sockets = FLAGS_sockets;
  const auto all = static_cast<uint32_t>(p.sockets * p.cores * p.contexts);
  constexpr double kMostCores = 256;
  if (p.sockets * p.cores > kMostCores) {
    platform::refuse(p.name + " has more than 256 cores, which is the most that is simulated");
  }
  if (FLAGS_cores > all) {
    platform::refuse("--cores=" + std::to_string(FLAGS_cores) + ": " + p.name + " has " +
                     std::to_string(all) + " hardware contexts");
  }
  made.contexts = FLAGS_cores == 0 ? all : FLAGS_cores;
  made.cycle = made.cycles(1);
  made.sockets = 1;
  for (uint32_t context = 0; context < made.contexts; ++context) {
    made.sockets = std::max(made.sockets, made.socket_of(context) + 1);
  }
  made.l2 = made.cycles(p.l2_cycles);
  made.stream = made.cycles(p.stream_cycles);
  made.rmw = made.cycles(p.rmw_cycles);
  made.fence = made.cycles(p.fence_cycles);
  made.pause = made.cycles(kPauseCycles);
  made.store_lead = made.cycles(p.store_buffer * kCyclesAStore);
  made.line_transfer = static_cast<Picoseconds>(64e3 / p.memory_gb_s);
  const double clean[] = {p.l3_cycles, p.hop_clean_cycles, p.two_hop_clean_cycles};
  const double dirty[] = {p.dirty_cycles, p.hop_dirty_cycles, p.two_hop_dirty_cycles};
  const double upgrade[] = {p.upgrade_cycles, p.hop_upgrade_cycles, p.two_hop_upgrade_cycles};
  const double memory[] = {p.memory_cycles, p.hop_memory_cycles, p.two_hop_memory_cycles};
  for (uint32_t far = 0; far < kDistances; ++far) {
    made.clean[far] = made.cycles(clean[far]);
    made.dirty[far] = made.cycles(dirty[far]);
    made.upgrade[far] = made.cycles(upgrade[far]);
    made.memory[far] = made.cycles(memory[far]);
  }
  const auto ns = [](double number) { return static_cast<Picoseconds>(number * 1e3); };
  made.allocation = ns(p.allocation_ns);
  made.syscall = ns(p.syscall_ns);
  made.context_switch = ns(p.context_switch_ns);
  made.futex_wait = ns(p.futex_wait_ns);
  made.futex_wake = ns(p.futex_wake_ns);
  made.wake_latency = ns(p.wake_latency_ns);
  made.timer_late = ns(p.timer_late_ns);
  made.time_slice = ns(p.time_slice_us * 1e3);
  made.write_back = ns(p.write_back_ns);
  return made;
}

}  // namespace

uint32_t Machine::core_of(uint32_t context) const {
  return context % static_cast<uint32_t>(profile.sockets * profile.cores);
}

uint32_t Machine::socket_of(uint32_t context) const {
  return core_of(context) / static_cast<uint32_t>(profile.cores);
}

uint32_t Machine::distance(uint32_t one, uint32_t other) const {
  if (one == other) return 0;
  if (profile.interconnect == "full") return 1;
  return std::min(kDistances - 1, static_cast<uint32_t>(std::popcount(one ^ other)));
}

Picoseconds Machine::per_instruction(uint32_t busy) const {
  const double slower = std::max(1.0, busy * profile.context_share);
  return std::max<Picoseconds>(1, cycles(slower / profile.instructions_per_cycle));
}

std::string Machine::description() const {
  return "simulated " + profile.file + ", " + std::to_string(contexts) + " cores, " +
         std::to_string(sockets) + (sockets == 1 ? " socket" : " sockets") + ", model " +
         std::to_string(kModelVersion) + ", seed " + std::to_string(seed);
}

const Machine& machine() {
  static const Machine made = make_machine();
  return made;
}

}  // namespace logjam::sim
