#include "sim/machine/machine.h"

#include <algorithm>
#include <sstream>

#include "platform/fatal.h"
#include "sim/region.h"

namespace logjam::sim {
namespace {

void refuse_cache_without_a_set(const Profile& profile, const std::string& level, double kib,
                                double ways) {
  if (kib == 0 || kib * 1024 >= ways * kLineBytes) return;
  std::ostringstream sentence;
  sentence << profile.name << ": the " << level << " cache has no room for one set of " << ways
           << " lines";
  platform::refuse(sentence.str());
}

}  // namespace

Machine make_machine(const Profile& profile, uint32_t contexts, uint64_t seed) {
  Machine made{};
  made.profile = profile;
  made.seed = seed;
  const Profile& p = made.profile;
  const auto all = static_cast<uint32_t>(p.sockets * p.cores * p.contexts);
  constexpr double kMostCores = 256;
  if (p.sockets * p.cores > kMostCores) {
    platform::refuse(p.name + " has more than 256 cores, which is the most that is simulated");
  }
  if (contexts > all) {
    platform::refuse("--cores=" + std::to_string(contexts) + ": " + p.name + " has " +
                     std::to_string(all) + " hardware contexts");
  }
  refuse_cache_without_a_set(p, "l1", p.l1_kib, p.l1_ways);
  refuse_cache_without_a_set(p, "l2", p.l2_kib, p.l2_ways);
  refuse_cache_without_a_set(p, "l3", p.l3_mib * 1024, p.l3_ways);
  const auto sockets = static_cast<uint32_t>(p.sockets), cores = static_cast<uint32_t>(p.cores);
  made.complexes_of_socket = static_cast<uint32_t>(p.complexes);
  made.cores_of_complex = cores / made.complexes_of_socket;
  if (made.cores_of_complex * made.complexes_of_socket != cores) {
    platform::refuse(p.name + ": a socket's " + std::to_string(cores) + " cores do not make " +
                     std::to_string(made.complexes_of_socket) + " complexes of one size");
  }
  if (sockets * made.complexes_of_socket > kMostSharedCaches) {
    platform::refuse(p.name + " has more than " + std::to_string(kMostSharedCaches) +
                     " shared caches, which is the most that is simulated");
  }
  if (p.far_atomic_cycles > 0 && p.l3_mib == 0) {
    platform::refuse(p.name + ": far_atomic_cycles: there is no shared cache (l3_mib)");
  }
  made.contexts = contexts == 0 ? all : contexts;
  made.one_hop = one_hop(p.interconnect);
  made.cycle = made.cycles(1);
  made.sockets = 1;
  for (uint32_t context = 0; context < made.contexts; ++context) {
    made.sockets = std::max(made.sockets, made.socket_of(context) + 1);
  }
  made.l2 = made.cycles(p.l2_cycles);
  made.l3_stream = made.cycles(p.l3_stream_cycles);
  made.rmw = made.cycles(p.rmw_cycles);
  made.fence = made.cycles(p.fence_cycles);
  made.pause = made.cycles(p.pause_cycles);
  made.ticks = made.cycles(p.ticks_cycles);
  made.read_occupancy = made.cycles(p.read_occupancy_cycles);
  made.sharer = made.cycles(p.sharer_cycles);
  made.far_atomic = made.cycles(p.far_atomic_cycles);
  made.store_lead = made.cycles(p.store_buffer * p.store_cycles);
  made.line_transfer = static_cast<Picoseconds>(64e3 / p.memory_gb_s);
  const double clean[] = {p.l3_cycles, p.complex_clean_cycles, p.hop_clean_cycles,
                          p.two_hop_clean_cycles};
  const double dirty[] = {p.dirty_cycles, p.complex_dirty_cycles, p.hop_dirty_cycles,
                          p.two_hop_dirty_cycles};
  const double upgrade[] = {p.upgrade_cycles, p.complex_upgrade_cycles, p.hop_upgrade_cycles,
                            p.two_hop_upgrade_cycles};
  const double memory[] = {p.memory_cycles, p.memory_cycles, p.hop_memory_cycles,
                           p.two_hop_memory_cycles};
  for (uint32_t far = 0; far < kDistances; ++far) {
    made.clean[far] = made.cycles(clean[far]);
    made.dirty[far] = made.cycles(dirty[far]);
    made.hold[far] = static_cast<Picoseconds>(static_cast<double>(made.dirty[far]) * p.hold);
    // A transfer from another socket takes longer than one within a socket by two ways. Requests to
    // a hub make no detour.
    const double two_ways = dirty[far] - std::min(dirty[kSameSocket], dirty[far]);
    made.way[far] = far <= kSameSocket || p.interconnect == "hub" ? 0 : made.cycles(two_ways / 2);
    made.upgrade[far] = made.cycles(upgrade[far]);
    made.memory[far] = made.cycles(memory[far]);
    // No profile has stream prices for another socket. So the stream prices grow with the distance
    // as the prices of single lines do.
    const double farther = p.memory_cycles == 0 ? 1 : memory[far] / p.memory_cycles;
    made.stream[far] = made.cycles(p.stream_cycles * farther);
    made.stream_store[far] = made.cycles(p.stream_store_cycles * farther);
  }
  const auto ns = [](double number) { return static_cast<Picoseconds>(number * 1e3); };
  made.look_ahead = ns(p.look_ahead_ns);
  made.clock = ns(p.clock_ns);
  made.allocation = ns(p.allocation_ns);
  made.syscall = ns(p.syscall_ns);
  made.context_switch = ns(p.context_switch_ns);
  made.futex_look = ns(std::min(p.futex_look_ns, p.futex_wait_ns));
  made.futex_wait = ns(p.futex_wait_ns);
  made.futex_wake = ns(p.futex_wake_ns);
  made.wake_latency = ns(p.wake_latency_ns);
  made.wake_busy = ns(p.wake_busy_ns);
  made.timer_late = ns(p.timer_late_ns);
  made.time_slice = ns(p.time_slice_us * 1e3);
  made.write_back = ns(p.write_back_ns);
  made.write_back_line = ns(p.write_back_line_ns);
  return made;
}

uint32_t Machine::core_of(uint32_t context) const {
  return context % static_cast<uint32_t>(profile.sockets * profile.cores);
}

uint32_t Machine::socket_of(uint32_t context) const {
  return core_of(context) / static_cast<uint32_t>(profile.cores);
}

Picoseconds Machine::per_instruction(double siblings_busy) const {
  const double slower = std::max(1.0, (1 + siblings_busy) * profile.context_share);
  return std::max<Picoseconds>(1, cycles(slower / profile.instructions_per_cycle));
}

std::string Machine::description() const {
  return "simulated " + profile.file + ", " + std::to_string(contexts) + " cores, " +
         std::to_string(sockets) + (sockets == 1 ? " socket" : " sockets") + ", model " +
         std::to_string(kModelVersion) + ", seed " + std::to_string(seed);
}

}  // namespace logjam::sim
