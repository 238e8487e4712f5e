// The simulated machine: its profile in picoseconds, so that a cycle of every frequency is a whole
// number, and the hardware contexts that take part. The first call of machine(), after the flags
// are read, makes the program's machine, which never changes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "sim/machine/profile.h"

namespace logjam::sim {

using Picoseconds = uint64_t;

// The version of the model in each row of results. Raise it when the model changes results.
inline constexpr int kModelVersion = 10;

// Distances between two complexes. A complex is the cores of a socket that share a cache.
inline constexpr uint32_t kSameComplex = 0, kSameSocket = 1, kOneHop = 2, kTwoHops = 3;
inline constexpr uint32_t kDistances = 4;
inline constexpr uint32_t kMostSharedCaches = 32;  // one for each complex

struct Machine {
  Profile profile;
  uint64_t seed;
  // Whether the simulation checks the clocks, the order of the contexts, and that the states of the
  // cache lines agree with the caches' tags (--test=sim_check:1).
  bool checks_itself = false;
  uint32_t one_hop;   // as one_hop() returns it
  uint32_t contexts;  // the number of contexts that take part
  uint32_t sockets;   // the number of sockets of these contexts
  uint32_t complexes_of_socket, cores_of_complex;
  Picoseconds look_ahead;  // how far a context may run ahead of the order of the clocks
  Picoseconds cycle;

  Picoseconds l2, l3_stream, stream[kDistances], stream_store[kDistances];
  Picoseconds rmw, fence, pause, ticks, store_lead, line_transfer, read_occupancy, sharer;
  Picoseconds far_atomic;  // 0: cores do their atomic operations in their own caches
  Picoseconds clean[kDistances], dirty[kDistances], upgrade[kDistances], memory[kDistances];
  Picoseconds hold[kDistances];  // until a line's owner receives a request
  Picoseconds way[kDistances];   // of a message between two sockets, in one direction
  Picoseconds clock, allocation, syscall, context_switch, futex_look, futex_wait, futex_wake;
  Picoseconds wake_latency, wake_busy, timer_late, time_slice, write_back, write_back_line;

  Picoseconds cycles(double number) const {
    return static_cast<Picoseconds>(number * 1e3 / profile.ghz);
  }
  // Returns the part of a wait for a line that the core's other waits do not hide.
  Picoseconds overlapped(Picoseconds wait) const {
    return static_cast<Picoseconds>(static_cast<double>(wait) / profile.overlap);
  }
  // Returns how long a line that moves between cores of a complex serves no third core.
  Picoseconds occupied(Picoseconds latency) const {
    return static_cast<Picoseconds>(static_cast<double>(latency) * profile.occupancy);
  }
  // Returns the core of a context. Contexts are numbered socket by socket: the first contexts of
  // all cores, then the second contexts of all cores.
  uint32_t core_of(uint32_t context) const;
  uint32_t socket_of(uint32_t context) const;
  uint32_t complex_of(uint32_t core) const { return core / cores_of_complex; }
  uint32_t socket_of_complex(uint32_t complex) const { return complex / complexes_of_socket; }
  uint32_t distance(uint32_t one, uint32_t other) const {
    if (one == other) return kSameComplex;
    const uint32_t hops = socket_of_complex(one) ^ socket_of_complex(other);
    if (hops == 0) return kSameSocket;
    return (one_hop >> hops & 1) != 0 ? kOneHop : kTwoHops;
  }
  uint32_t distance_of_memory(uint32_t complex, uint32_t socket) const {
    return distance(complex, socket * complexes_of_socket);
  }
  // Returns the time of an instruction on a context. `siblings_busy` is the part of the time in
  // which the context's siblings together take issue slots.
  Picoseconds per_instruction(double siblings_busy) const;
  std::string description() const;
};

// Returns the machine with its first `contexts` hardware contexts; 0: with all contexts. Ends the
// process with one sentence if the machine cannot be simulated.
Machine make_machine(const Profile& profile, uint32_t contexts, uint64_t seed);

const Machine& machine();

}  // namespace logjam::sim
