// A machine's profile: the costs of hardware and operating system, from a file of config/machines/.
// config/machines/README.md describes the keys, in this order. The main thread reads the file
// before virtual time begins; any fiber may read the profile, which never changes.
#pragma once

#include <cstdint>
#include <string>

namespace logjam::sim {

struct Profile {
  std::string file;  // the file's name without directory and ending
  std::string name;  // of the machine
  std::string interconnect;

  double ghz, sockets, cores, complexes, contexts, instructions_per_cycle, context_share;
  double l1_kib, l1_ways, l2_kib, l2_ways, l2_cycles, l3_mib, l3_ways, l3_cycles;
  double dirty_cycles, upgrade_cycles;
  double complex_clean_cycles, complex_dirty_cycles, complex_upgrade_cycles;
  double hop_clean_cycles, hop_dirty_cycles, hop_upgrade_cycles;
  double two_hop_clean_cycles, two_hop_dirty_cycles, two_hop_upgrade_cycles;
  double memory_cycles, hop_memory_cycles, two_hop_memory_cycles, memory_gb_s;
  double rmw_cycles, fence_cycles, pause_cycles, ticks_cycles;
  double occupancy, hold, nearest_first, read_occupancy_cycles, sharer_cycles, far_atomic_cycles;
  double store_buffer, store_cycles, overlap;
  double stream_cycles, stream_store_cycles, l3_stream_cycles, lines_ahead, lines_noticed;
  double clock_ns, allocation_ns, syscall_ns, context_switch_ns, futex_look_ns, futex_wait_ns;
  double futex_wake_ns, wake_busy_ns;
  double wake_latency_ns, timer_late_ns, time_slice_us, write_back_ns, write_back_line_ns;
  double look_ahead_ns;
};

// Returns a set of bits. Two sockets whose numbers differ in the bits of n are one hop apart if bit
// n is in the set; otherwise they are two hops apart. Returns 0 for an unknown interconnect.
uint32_t one_hop(const std::string& interconnect);

// Returns the profile `name`: a path, or the name of a file of config/machines/ without its ending.
// `changes` ("key=value,...") replaces numbers of the file. Ends the process with one sentence if a
// key is unknown or has no source, or if a key without a default for this machine is missing.
Profile read_profile(const std::string& name, const std::string& changes);

}  // namespace logjam::sim
