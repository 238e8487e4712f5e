// The simulated machine: its profile in the simulation's unit, and how many of its hardware
// contexts take part. Time is counted in picoseconds, so that a cycle of every profile's frequency
// is a whole number.
//
// The first call of machine() makes the program's machine, after the flags are read. It never
// changes afterwards.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include "sim/profile.h"

namespace logjam::sim {

using Picoseconds = uint64_t;

// The version of the model, which each row names. A change of the model that changes results gets
// the next number.
inline constexpr int kModelVersion = 8;

// Distances between two sockets.
inline constexpr uint32_t kDistances = 3;  // the same socket, one hop, two hops

struct Machine {
  Profile profile;
  uint64_t seed;
  // Whether the simulation checks itself (--test=sim_check:1): no clock goes back, the contexts run
  // in the order of their clocks, and the lines' states agree with the caches' tags.
  bool checks_itself = false;
  bool fully_connected;  // every socket is one hop from every other
  uint32_t contexts;     // how many take part
  uint32_t sockets;      // how many sockets these are on
  Picoseconds cycle;

  Picoseconds l2, l3_stream, stream[kDistances], stream_store[kDistances];
  Picoseconds rmw, fence, pause, ticks, store_lead, line_transfer, read_occupancy, sharer;
  Picoseconds clean[kDistances], dirty[kDistances], upgrade[kDistances], memory[kDistances];
  Picoseconds hold[kDistances];  // until a line's owner receives a request
  Picoseconds clock, allocation, syscall, context_switch, futex_look, futex_wait, futex_wake;
  Picoseconds wake_latency, wake_busy, timer_late, time_slice, write_back, write_back_line;

  Picoseconds cycles(double number) const {
    return static_cast<Picoseconds>(number * 1e3 / profile.ghz);
  }
  // Returns the part of a wait that its neighbours do not hide.
  Picoseconds overlapped(Picoseconds wait) const {
    return static_cast<Picoseconds>(static_cast<double>(wait) / profile.overlap);
  }
  // Returns the core of a context. Contexts are counted through the cores of socket 0, then those
  // of socket 1, ..., and then, in the same order, the second context of each core.
  uint32_t core_of(uint32_t context) const;
  uint32_t socket_of(uint32_t context) const;
  // Returns the number of hops between two sockets: 0, 1 or 2.
  uint32_t distance(uint32_t one_socket, uint32_t other_socket) const {
    if (one_socket == other_socket) return 0;
    if (fully_connected) return 1;
    return std::min(kDistances - 1,
                    static_cast<uint32_t>(std::popcount(one_socket ^ other_socket)));
  }
  // Returns the time of an instruction beside siblings that take issue slots `siblings_busy` of
  // their time, added up: 0 if the context has its core alone.
  Picoseconds per_instruction(double siblings_busy) const;
  // Returns the machine in words, for platform::host_description().
  std::string description() const;
};

// Returns the machine with its first `contexts` hardware contexts; 0: all. Ends the process with
// one sentence if it cannot be simulated.
Machine make_machine(const Profile& profile, uint32_t contexts, uint64_t seed);

// Returns the machine that the flags describe (flags.cc).
const Machine& machine();

}  // namespace logjam::sim
