// What an access to memory costs: the caches of the cores, their coherence, memory.
//
// Each line has a state (Line): which cores hold it, which one alone may write it, which sockets'
// shared caches have it, and until when it is on its way (Line::busy_until). Each core has the tags
// of its private caches. Both always agree: a core has the tag of a line if and only if the line
// names the core among its sharers.
//
// An access that the core's own caches answer concerns no other core. All others are visible:
// the scheduler orders them by time (scheduler.h) before they come here. A line's state changes
// when it is asked for; the core waits afterwards, and Line::busy_until makes the next one wait.
//
// In the private caches the least recently used line leaves, and the second cache has all that the
// first one has. In a shared cache the line leaves that came first, and cores keep theirs.
// docs/SIMULATION.md has the prices, and what is left out.
//
// Only the one host thread calls these functions.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/machine.h"
#include "sim/region.h"
#include "sim/tag_store.h"

namespace logjam::sim {

enum class Access : uint8_t {
  kLoad,
  kStore,   // retires through the store buffer
  kAtomic,  // a read-modify-write: the core waits for the line
  kPrefetch,
};

inline constexpr uint32_t kMostCores = 256;

struct alignas(64) Line {
  std::array<uint64_t, kMostCores / 64> sharers;  // a bit for each core
  Picoseconds busy_until;
  Picoseconds arrives;    // at the core that asked last for the only copy, or for its owner's
  uint16_t owner_plus_1;  // the one core that may write it, else 0
  uint8_t shared_caches;  // a bit for each socket whose shared cache has it
  uint32_t transfers;     // from one core's cache to another's, or upgrades
  Picoseconds cost;       // of all accesses that left the core
};
static_assert(sizeof(Line) == 64);

// What the hardware contexts of one core share.
struct Core {
  Core(uint32_t number, uint32_t socket, const Profile& profile);

  uint32_t number, socket;
  TagStore l1, l2;
  struct Stream {
    uint32_t next = kNoLine;  // the line behind the last one
    uint32_t lines = 0;       // that were missed in a row before the last one
    Picoseconds ready = 0;    // when the last one was there
  };
  std::array<Stream, 8> streams{};
  uint32_t next_stream = 0;
};

// Accesses that left their core, by where they were answered.
struct AccessCounts {
  uint64_t second_level = 0, shared_cache = 0, other_core = 0, other_socket = 0;
  uint64_t memory = 0, remote_memory = 0, upgrades = 0, waits_for_line = 0;
};

class Caches {
 public:
  explicit Caches(const Machine& machine);
  ~Caches();
  Caches(const Caches&) = delete;
  Caches& operator=(const Caches&) = delete;

  Core& core(uint32_t number) { return cores_[number]; }
  Line& line(uint32_t number) { return lines_[number]; }
  const AccessCounts& counts() const { return counts_; }

  // Looks in the core's own caches behind the first one. Returns whether that was enough; `*cost`
  // is then what it took.
  bool in_private_cache(Core& core, uint32_t line, bool write, Picoseconds* cost);
  // When another core that may write the line hears of a request that is sent at `now`, and how
  // much of the transfer's latency has passed then. `now` and 0 if there is no such core.
  struct Heard {
    Picoseconds at, passed;
  };
  Heard heard_by_owner(const Core& core, uint32_t line, Picoseconds now) const;
  // The host begins to load what fetch() will read and write, so that its own misses overlap:
  // expect() when the core begins to wait, expect_fetch() when the others have had their turn.
  // Neither changes anything.
  void expect(const Core& core, uint32_t line) const;
  void expect_fetch(const Core& core, uint32_t line) const;
  // Brings the line from elsewhere at `now`, of whose way `passed` has passed then. Returns how
  // long that takes, and whether the shared cache of the core's socket had it.
  struct Fetched {
    Picoseconds cost;
    bool from_shared_cache;
  };
  Fetched fetch(Core& core, uint32_t line, bool write, Picoseconds now, Picoseconds passed = 0);
  // The stream that the core's miss of this line continues or begins. It is valid until the next
  // call.
  static Core::Stream& stream_of(Core& core, uint32_t line);

 private:
  Picoseconds from_memory(Core& core, uint32_t number, Line& line, Picoseconds now);
  Fetched from_elsewhere(Core& core, uint32_t number, Line& line, Picoseconds now);
  Picoseconds invalidate_others(Core& core, uint32_t number, Line& line);
  void take_from_owner(uint32_t number, Line& line);
  void put(Core& core, uint32_t number, Line& line, bool writable);
  void drop(Core& core, uint32_t number);
  void put_in_shared_cache(uint32_t socket, uint32_t number, Line& line);
  uint32_t nearest_holder(uint32_t socket, const Line& line) const;

  const Machine& machine_;
  Line* const lines_;
  std::vector<Core> cores_;
  std::vector<TagStore> shared_;             // by socket
  std::vector<Picoseconds> memory_free_at_;  // by socket
  AccessCounts counts_;
};

}  // namespace logjam::sim
