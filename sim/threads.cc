// The threads of platform/ on the simulated machine, and the machine's description of itself.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "platform/device_irq.h"
#include "platform/fatal.h"
#include "platform/host.h"
#include "platform/random.h"
#include "platform/tbb_tasks.h"
#include "platform/text.h"
#include "platform/thread.h"
#include "platform/topology.h"
#include "platform/worker_class.h"
#include "sim/machine/lines_report.h"
#include "sim/machine/scheduler.h"

namespace logjam::platform {

thread::~thread() {
  if (joinable()) std::terminate();
}
void thread::start(std::function<void()> body) { fiber_ = sim::kernel().spawn(std::move(body)); }
void thread::join() { sim::kernel().join(std::exchange(fiber_, nullptr)); }

void pin_to_core(int index) {
  sim::kernel().pin(static_cast<uint32_t>(placement().of(static_cast<uint32_t>(index)).number));
}
void look_at_pin(int) {}
std::string why_not_pinned() { return ""; }
void pin_to_socket(int socket) {
  if (socket == kNoSocket || socket_count() == 1) return;
  sim::kernel().pin_to_socket(static_cast<uint32_t>(socket));
}

std::string favour_this_thread() {
  sim::kernel().current().favoured = true;
  return "simulated";
}
void name_this_thread(const std::string& name) { sim::kernel().current().name = name; }
bool set_scheduling_class(SchedulingClass wanted) { return wanted == SchedulingClass::kNormal; }
SchedulingClass scheduling_class() { return SchedulingClass::kNormal; }

// Runs parts in parallel, but one by one for the observer, because loading takes no virtual time.
void run_tasks(std::span<const NodeParts> groups, void (*run)(void*, uint32_t), void* context) {
  if (sim::kernel().observing()) {
    for (const NodeParts& group : groups) {
      const int before = sim::observe_from(group.node);
      for (const uint32_t part : group.parts) run(context, part);
      sim::observe_from(before);
    }
    return;
  }
  std::vector<thread> threads;
  for (const NodeParts& group : groups) {
    for (const uint32_t part : group.parts) threads.emplace_back([=] { run(context, part); });
  }
  for (thread& one : threads) one.join();
}
void sort_words(std::span<uint64_t> words, uint32_t) { std::sort(words.begin(), words.end()); }

WorkerClass::WorkerClass(const Request&, const KernelFiles&, const std::function<bool(uint32_t)>&)
    : set_class_(false),
      granted_("simulated"),
      reason_("a simulated machine's log threads preempt its workers at once"),
      preemptible_(true) {}
void WorkerClass::join() const {}
void WorkerClass::end() {}

// Returns -1: the simulated devices interrupt no core.
int core_of_most(std::span<const InterruptCount>) { return -1; }
int interrupt_core(const std::string&) { return -1; }

ProcessUse process_use() {
  const sim::Kernel::Usage used = sim::kernel().usage();
  return {static_cast<double>(used.busy) * 1e-12, static_cast<double>(used.kernel) * 1e-12,
          used.switches_given, used.switches_taken};
}

std::string host_description() { return sim::machine().description(); }
uint64_t random_number() {
  static SplitMix64 generator(sim::machine().seed);
  return generator.next();
}
bool is_simulated() { return true; }

void begin_measured_time() {
  sim::measured = false;
  sim::begin_reported_time();
}
void end_measured_time() {
  sim::measured = true;
  sim::end_reported_time();
}
std::string why_no_disk() {
  if (sim::kernel().has_disk()) return "";
  return "a simulated machine has no disk: --device=sim:LATENCY_US[:MB_S], nvm[:NS] and null run "
         "on its clock";
}

namespace {

// Returns the topology of the contexts that take part, with one memory node for each socket.
Topology topology_of(const sim::Machine& machine) {
  const auto sockets = static_cast<int>(machine.profile.sockets),
             cores = static_cast<int>(machine.profile.cores),
             contexts = static_cast<int>(machine.profile.contexts);
  // sim::Machine numbers the first contexts of all cores, and then the second contexts. The numbers
  // for hwloc must list all contexts of a core together.
  std::string numbers;
  for (int core = 0; core < sockets * cores; ++core) {
    for (int sibling = 0; sibling < contexts; ++sibling) {
      append_part(&numbers, ",", std::to_string(sibling * sockets * cores + core));
    }
  }
  const std::string description = "pack:" + std::to_string(sockets) +
                                  " numa:1 core:" + std::to_string(cores) +
                                  " pu:" + std::to_string(contexts) + "(indexes=" + numbers +
                                  ") allowed:0-" + std::to_string(machine.contexts - 1);
  const auto described = Topology::described(description);
  if (!described) fatal("hwloc does not understand " + description);
  return *described;
}

}  // namespace

const Topology& this_machine() {
  static const Topology topology = topology_of(sim::machine());
  return topology;
}

}  // namespace logjam::platform
