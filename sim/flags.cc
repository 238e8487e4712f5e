// The simulated program's machine, which its flags describe, and its scheduler. Unit tests are
// linked without this file, and make machines of their own.
#include <gflags/gflags.h>

#include "platform/test_value.h"
#include "sim/machine/machine.h"
#include "sim/machine/scheduler.h"

DEFINE_string(machine, "this",
              "the machine to simulate: a file of config/machines/ without its ending, or a path");
DEFINE_uint32(cores, 0, "how many hardware contexts of the simulated machine take part; 0: all");
DEFINE_string(set, "", "key=value,...: numbers that replace those of the machine's profile");
DEFINE_uint64(sim_seed, 1, "the seed: two simulations of the same flags and seed are the same");

namespace logjam::sim {
namespace {

const platform::TestValue checks_itself("sim_check");

Machine machine_of_flags() {
  Machine made = make_machine(read_profile(FLAGS_machine, FLAGS_set), FLAGS_cores, FLAGS_sim_seed);
  made.checks_itself = checks_itself.get() != 0;
  return made;
}

}  // namespace

const Machine& machine() {
  static const Machine made = machine_of_flags();
  return made;
}

Scheduler& scheduler() {
  static auto& made = *new Scheduler(machine());  // never destroyed: fibers may still run
  return made;
}

}  // namespace logjam::sim
