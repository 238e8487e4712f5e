// The simulated machine: its profile in the unit of the simulation, and how many of its hardware
// contexts take part. Time is counted in picoseconds, so that the frequencies of all profiles give
// whole numbers.
//
// The program's own is made by the first call of machine(), which comes when the flags are read,
// and never changed after.
#pragma once

#include <cstdint>
#include <string>

#include "sim/profile.h"

namespace logjam::sim {

using Picoseconds = uint64_t;

// What each row names. A change of the model that changes results gets the next number.
inline constexpr int kModelVersion = 6;

// Distances between two sockets.
inline constexpr uint32_t kDistances = 3;  // the same socket, one hop, two hops

struct Machine {
  Profile profile;
  uint64_t seed;
  uint32_t contexts;  // that take part
  uint32_t sockets;   // that these lie on
  Picoseconds cycle;

  Picoseconds l2, stream, stream_store, l3_stream;
  Picoseconds rmw, fence, pause, ticks, store_lead, line_transfer;
  Picoseconds clean[kDistances], dirty[kDistances], upgrade[kDistances], memory[kDistances];
  Picoseconds clock, allocation, syscall, context_switch, futex_wait, futex_wake;
  Picoseconds wake_latency, timer_late, time_slice, write_back, write_back_line;

  Picoseconds cycles(double number) const {
    return static_cast<Picoseconds>(number * 1e3 / profile.ghz);
  }
  // Contexts are counted through the cores of socket 0, then those of socket 1, ..., and then, in
  // the same order, the second context of each core.
  uint32_t core_of(uint32_t context) const;
  uint32_t socket_of(uint32_t context) const;
  uint32_t distance(uint32_t one_socket, uint32_t other_socket) const;
  // Picoseconds an instruction takes a context when `busy` contexts of its core are busy.
  Picoseconds per_instruction(uint32_t busy) const;
  // What platform::host_description() returns.
  std::string description() const;
};

// The machine of which `contexts` hardware contexts take part; 0: all. Ends the process with one
// sentence if it cannot be simulated.
Machine make_machine(const Profile& profile, uint32_t contexts, uint64_t seed);

// The one that the flags describe (flags.cc).
const Machine& machine();

}  // namespace logjam::sim
