#include "tests/sim/small_machine.h"

#include "sim/machine/lines_report.h"

namespace logjam::sim {
namespace {

const Machine* the_machine = nullptr;
Scheduler* the_scheduler = nullptr;

Machine checked(Machine machine) {
  machine.checks_itself = true;
  return machine;
}

void reserve_once() { [[maybe_unused]] static const bool reserved = (reserve_region(), true); }

}  // namespace

// sim/flags.cc has the program's.
const Machine& machine() { return *the_machine; }
Scheduler& scheduler() { return *the_scheduler; }

// sim/machine/lines_report.cc has the program's.
bool reporting_lines = false, reporting_memory = false;
void record_transfer(const void*, uint32_t, uint32_t, Picoseconds, Picoseconds) {}

Profile small_profile() {
  Profile profile{};
  profile.file = profile.name = "small";
  profile.interconnect = "square";
  profile.ghz = 1;
  profile.sockets = 4;
  profile.cores = 4;
  profile.complexes = 1;
  profile.contexts = 1;
  profile.instructions_per_cycle = 1;
  profile.context_share = 0.75;
  profile.l1_kib = 1;  // 8 sets
  profile.l1_ways = 2;
  profile.l2_kib = 4;  // 16 sets
  profile.l2_ways = 4;
  profile.l2_cycles = 12;
  profile.l3_mib = 1;
  profile.l3_ways = 16;
  profile.l3_cycles = 45;
  profile.dirty_cycles = 110;
  profile.upgrade_cycles = 80;
  profile.complex_clean_cycles = 130;
  profile.complex_dirty_cycles = 160;
  profile.complex_upgrade_cycles = 125;
  profile.hop_clean_cycles = 200;
  profile.hop_dirty_cycles = 280;
  profile.hop_upgrade_cycles = 250;
  profile.two_hop_clean_cycles = 300;
  profile.two_hop_dirty_cycles = 400;
  profile.two_hop_upgrade_cycles = 350;
  profile.memory_cycles = 220;
  profile.hop_memory_cycles = 330;
  profile.two_hop_memory_cycles = 420;
  profile.memory_gb_s = 6.4;  // a line in ten cycles
  profile.rmw_cycles = 20;
  profile.fence_cycles = 30;
  profile.pause_cycles = 40;
  profile.ticks_cycles = 20;
  profile.occupancy = 0.5;
  profile.hold = 0.2;
  profile.store_buffer = 42;
  profile.store_cycles = 4;
  profile.overlap = 3;
  profile.stream_cycles = 21;
  profile.stream_store_cycles = 30;
  profile.l3_stream_cycles = 9;
  profile.lines_ahead = 2;
  profile.lines_noticed = 2;
  profile.clock_ns = 20;
  profile.allocation_ns = 40;
  profile.syscall_ns = 150;
  profile.context_switch_ns = 1500;
  profile.futex_wait_ns = 900;
  profile.futex_wake_ns = 1200;
  profile.wake_latency_ns = 4000;
  profile.timer_late_ns = 5000;
  profile.time_slice_us = 1000;
  profile.write_back_ns = 60;
  profile.write_back_line_ns = 6;
  return profile;
}

Profile free_kernel() {
  Profile profile = small_profile();
  profile.sockets = 1;
  profile.syscall_ns = profile.context_switch_ns = profile.wake_latency_ns = 0;
  profile.futex_wait_ns = profile.futex_wake_ns = profile.timer_late_ns = 0;
  return profile;
}

uint32_t line_of_new_page(uint32_t socket) {
  reserve_once();
  return line_of(take(kPageBytes, kPageBytes, socket));
}

RunningMachine::RunningMachine(const Profile& profile, uint32_t contexts, uint64_t seed)
    : machine_(checked(make_machine(profile, contexts, seed))),
      scheduler_((reserve_once(), machine_)) {
  the_machine = &machine_;
  the_scheduler = &scheduler_;
}

RunningMachine::~RunningMachine() {
  the_machine = nullptr;
  the_scheduler = nullptr;
}

void RunningMachine::run_pinned(const std::vector<std::function<void()>>& bodies) {
  std::vector<std::function<void()>> pinned;
  for (uint32_t context = 0; context < bodies.size(); ++context) {
    pinned.push_back([this, context, &body = bodies[context]] {
      scheduler_.pin(context);
      body();
    });
  }
  run(pinned);
}

void RunningMachine::run(const std::vector<std::function<void()>>& bodies) {
  std::vector<Fiber*> fibers;
  for (const auto& body : bodies) fibers.push_back(scheduler_.spawn(body));
  for (Fiber* fiber : fibers) scheduler_.join(fiber);
}

}  // namespace logjam::sim
