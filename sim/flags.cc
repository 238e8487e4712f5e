// The one machine of the simulated program, which its flags describe, and its scheduler. The unit
// tests of the other files are linked without this one and make machines of their own.
#include <gflags/gflags.h>

#include "sim/machine.h"
#include "sim/scheduler.h"

DEFINE_string(machine, "this",
              "the machine to simulate; a file of config/machines/ without its ending, or a path");
DEFINE_uint32(cores, 0, "hardware contexts that are used; 0: all of the machine");
DECLARE_uint32(sockets);  // of cli/settings.cc
DEFINE_string(set, "", "numbers in place of those of the machine's profile, key=value,...");
DEFINE_uint64(sim_seed, 1,
              "seed of the simulation; with another one the same flags give another run");

namespace logjam::sim {
namespace {

Machine machine_of_flags() {
  Profile profile = read_profile(FLAGS_machine, FLAGS_set);
  if (FLAGS_sockets != 0) profile.sockets = FLAGS_sockets;
  return make_machine(profile, FLAGS_cores, FLAGS_sim_seed);
}

}  // namespace

const Machine& machine() {
  static const Machine made = machine_of_flags();
  return made;
}

Scheduler& scheduler() {
  static auto& made = *new Scheduler(machine());  // never destroyed: fibers may be on their way
  return made;
}

}  // namespace logjam::sim
