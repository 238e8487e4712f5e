// The costs that `logjam machine` measures: medians of `repetitions` measurements. Cores have the
// numbers of pin_to_core(). Only the main thread calls these functions, while no other thread runs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "platform/kernel_files.h"

namespace logjam::platform {

// The speed of one core, alone and beside another core.
struct CoreCosts {
  double ghz;
  double instructions_per_cycle;  // x86's, on Arm too: kInstructionsInARound
  double rmw_ns;         // a fetch-add of a line in the core's L1, minus an increment of the line
  double fence_ns;       // full_fence() with an empty store buffer
  double pause_ns;       // pause()
  double ticks_ns;       // ticks()
  double clock_ns;       // now_ns()
  double allocation_ns;  // malloc or free of a small piece
};
CoreCosts core_costs(int core, uint32_t repetitions);

// Measures how long the loop of instructions_per_cycle takes on `core`, alone and while core
// `other` runs the loop too. Returns the second time divided by the first: 1 if the two cores share
// nothing.
double slowdown_beside(int core, int other, uint32_t repetitions);

// The operating system's prices: to yield a core, to sleep and to wake.
struct KernelCosts {
  double syscall_ns;         // yield() while no other thread is ready
  double context_switch_ns;  // yield() to another thread of the same core, minus syscall_ns
  double futex_wait_ns;      // the processor time of a thread that falls asleep
  double futex_wake_ns;      // wake_one() of a sleeper on another core, for the caller
  double wake_latency_ns;    // from the start of wake_one() to the sleeper's first instruction
  double timer_late_ns;      // how late sleep_ns(100 us) of a log thread returns
};
// Measures the costs on `core`. The thread that sleeps is on core `other`.
KernelCosts kernel_costs(int core, int other, uint32_t repetitions);

// The prices of a cache line that two cores use.
struct LineCosts {
  double clean_ns;     // load of a line that the other core has read
  double dirty_ns;     // load of a line that the other core has written
  double upgrade_ns;   // fetch-add of a line read by both cores, minus fetch-add of a private line
  double hand_off_ns;  // half the round trip of a line between two compare-and-swaps
  // The time of each addition while both cores add to one line. 0: they never ran together.
  double contended_fetch_add_ns;
};
// Measures with one thread on `core` and one on `other`. hand_off_ns and contended_fetch_add_ns
// need both threads to run at once; for the other costs one thread waits while the other works.
LineCosts line_costs(int core, int other, uint32_t repetitions);
// Measures only LineCosts::hand_off_ns.
double hand_off_ns(int core, int other, uint32_t repetitions);

// 0 stands for a number that the kernel does not give.
struct CacheShape {
  uint64_t kib = 0;
  uint32_t ways = 0;
};

// The cores and caches of this machine, as the kernel describes them.
struct MachineShape {
  std::string name;  // of the processor
  std::string kernel;
  int sockets = 1;
  int cores = 1;     // the allowed cores of the first allowed core's socket
  int contexts = 1;  // hardware contexts of the first allowed core
  CacheShape l1, l2, l3;
  // Cores to measure with the first allowed core, as numbers for pin_to_core(). -1: none.
  int same_socket = -1;   // another core of the same socket
  int sibling = -1;       // another context of the same core
  int other_socket = -1;  // a core of another socket
};
// Reads /proc and /sys. `allowed`, not empty, are the kernel's numbers of the allowed cores.
MachineShape machine_shape(const KernelFiles& kernel, std::span<const int> allowed);

// Latency and bandwidth of caches and memory, seen from one core.
struct MemoryCosts {
  double l2_ns, l3_ns, memory_ns;  // of a load that depends on the load before; 0: no such cache
  // The part of the L3 that this machine may use, in MiB. A virtual machine often has only a part
  // of the L3 that its kernel sees.
  uint64_t l3_mib;
  // The throughput of four independent pointer chases, divided by that of one chase (1 to 4).
  double overlap;
  double stream_ns;           // a line of memory that is read in order
  double stream_store_ns;     // a line of memory that is written in order
  double l3_stream_ns;        // a line of the L3 that is read in order; 0: no L3
  double gb_s;                // all allowed cores of the socket read memory in order, together
  uint32_t readers;           // the number of these cores
  double write_back_ns;       // write_back() of one line
  double write_back_line_ns;  // each further line of one write_back()
};
// Measures on core 0. Only gb_s is measured on all allowed cores of the NUMA node of core 0.
MemoryCosts memory_costs(const MachineShape& shape, uint32_t repetitions);

// Returns the allowed cores that are on the NUMA node of core 0.
std::vector<int> cores_of_the_socket();

// The most that this machine does of something in a second.
struct Rate {
  std::string what;  // "lines", "bytes" or "instructions"
  std::string how;   // the loop
  uint32_t threads;
  double per_s;
};
// Measures with one thread, and with a thread on each allowed core of the NUMA node of core 0.
// Lines: of memory in random order, with 1 to 16 loads on their way at a time. Bytes: of lines of
// memory that are read, or copied, in order; a copied byte is one that is read and one that is
// written. Instructions: of hash_load_and_store(), and of hash_loads_ahead().
std::vector<Rate> measured_rates(uint32_t repetitions);

// Measures memory_ns on `core`, in memory that core `home` has touched first.
double memory_ns(int core, int home, uint32_t repetitions);

// Measures this machine for some seconds, and returns its profile as text
// (config/machines/README.md). Needs two cores that no other program uses. Ends the process with
// one sentence if this process may use only one core.
std::string measured_profile(uint32_t repetitions);

}  // namespace logjam::platform
