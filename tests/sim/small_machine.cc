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

// Replaces the function of sim/flags.cc.
const Machine& machine() { return *the_machine; }
Scheduler& scheduler() { return *the_scheduler; }

// These variables replace those of sim/machine/lines_report.cc.
bool reporting_lines = false, reporting_memory = false;
void record_transfer(const void*, uint32_t, uint32_t, Picoseconds, Picoseconds) {}

Profile small_profile() {
  return read_profile(kSmallProfile,
                      "contexts=1,complex_clean_cycles=130,complex_dirty_cycles=160,"
                      "complex_upgrade_cycles=125,futex_look_ns=0");
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
