// The price of an access to memory: the caches of the cores, their coherence, memory.
//
// Each line has a state (Line): the cores that hold it, the one core that may write it, the
// complexes whose shared caches have it, and the time until which it is being transferred
// (Line::busy_until). Each core has the tags of its private caches. Both always agree: a core has
// the tag of a line if and only if the line names the core among its sharers. The cores of a
// complex share one more cache; on most machines a socket is one complex.
//
// An access that the core's own caches answer concerns no other core. All other accesses are
// visible: the scheduler orders them by time (scheduler.h) before they come here. A line's state
// changes when a core requests the line. That core waits afterwards, and Line::busy_until makes the
// next core wait.
//
// All caches evict the least recently used line, and the second cache has every line of the first
// one. Cores keep their copies of a line that leaves a shared cache. docs/SIMULATION.md has the
// prices, and the list of effects that are left out.
//
// Only the one host thread calls these functions.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/machine/machine.h"
#include "sim/machine/tag_store.h"
#include "sim/region.h"

namespace logjam::sim {

enum class Access : uint8_t {
  kLoad,
  kStore,   // retires through the store buffer
  kAtomic,  // a read-modify-write: the core waits for the line
  kPrefetch,
};

inline constexpr uint32_t kMostCores = 256;

// Where a line comes from.
enum class Source : uint8_t {
  kOwnCopy,      // the core has it already, and asks for the right to write
  kOwner,        // another core may write it
  kSharedCache,  // the cache of the core's complex, or another core of the complex, has it clean
  kFarCache,     // only caches of other complexes have it
  kMemory,
};

struct alignas(64) Line {
  std::array<uint64_t, kMostCores / 64> sharers;  // a bit for each core
  Picoseconds busy_until;
  Picoseconds arrives;     // at the core that last asked for the only copy, or for the owner's
  uint32_t shared_caches;  // a bit for each complex whose shared cache has it
  uint16_t owner_plus_1;   // the one core that may write it, else 0
  uint16_t waiting : 15;   // requests that wait until it arrives at its owner
  uint16_t written : 1;    // a shared cache has it as its last owner wrote it, and memory has not
  uint64_t transfers;      // from one core's cache to another's, or upgrades
};
static_assert(sizeof(Line) == 64);

// The part of a core that its hardware contexts share.
struct Core {
  Core(uint32_t number, const Machine& machine);

  uint32_t number, complex, socket;
  TagStore l1, l2;
  struct Stream {
    uint32_t next = kNoLine;  // the line after the last one
    uint32_t lines = 0;       // missed in a row before the last one
    Picoseconds ready = 0;    // when the last one arrived
  };
  std::array<Stream, 8> streams{};
  uint32_t next_stream = 0;
};

// How many accesses left their core, by where they were answered.
struct AccessCounts {
  uint64_t second_level = 0, shared_cache = 0, other_core = 0, other_complex = 0;
  uint64_t other_socket = 0;
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

  // Looks for the line in the core's second cache. Returns whether it is there and usable; `*cost`
  // is then the time that the access takes.
  bool in_private_cache(Core& core, uint32_t line, bool write, Picoseconds* cost);
  // When a line's owner receives a request, and how much of the transfer's latency has elapsed
  // then.
  struct Heard {
    Picoseconds at, passed;
    bool queued = false;  // it waits for the line's arrival; fetch() must hear of it
  };
  // Returns when the line's owner receives a request sent at `now`, and how much of the transfer's
  // latency has elapsed by then; {now, 0} if no other core owns the line. Requests that wait for
  // the line's arrival are served in the order of asking, or the nearest first if the profile says
  // so.
  Heard heard_by_owner(const Core& core, uint32_t line, Picoseconds now);
  // Prefetches, on the host, the state that fetch() will touch. Call it when the core begins to
  // wait. Has no effect on the simulation.
  void expect(const Core& core, uint32_t line) const;
  // Prefetches the rest of that state. Call it when the other cores have had their turn.
  void expect_fetch(const Core& core, uint32_t line) const;
  // How a line comes to a core.
  struct Fetched {
    Source source = Source::kOwnCopy;
    uint32_t far = 0;         // the distance of the source
    Picoseconds latency = 0;  // of the source alone
    Picoseconds cost = 0;     // the same, and the waits for a line under way and for busy memory
  };
  // Fetches the line, starting at `heard.at`. The core has already waited for `heard.passed` of the
  // latency.
  Fetched fetch(Core& core, uint32_t line, bool write, const Heard& heard);
  // Does an atomic operation in the shared cache of the core's complex, as a machine with
  // `far_atomic_cycles` does: one after the other, and no core keeps the line. Returns when the
  // operation begins, and how long it takes then without `rmw_cycles`.
  struct FarAtomic {
    Picoseconds begins, latency;
  };
  FarAtomic far_atomic(Core& core, uint32_t line, Picoseconds now);
  // Returns the stream that the core's miss of this line continues or begins. Valid until the next
  // call.
  static Core::Stream& stream_of(Core& core, uint32_t line);

  // Puts a line into a shared cache of its home's socket, at no time and as the most recent one, as
  // if somebody had loaded data there before virtual time begins. The complexes of the socket take
  // the lines in turn. A filter passes over a line that was put there a moment ago, because a look
  // into the tags misses the host's caches. The lines of a set have one place in the filter, so the
  // line in it is the most recent one of its set.
  void warm(uint32_t line) {
    uint32_t& latest = warmed_[line & (warmed_.size() - 1)];
    if (latest == line) return;
    latest = line;
    warm_shared_cache(line);
  }
  // Empties the filter of warm(), because cores have used the caches since.
  void forget_warmed();

 private:
  Fetched from_memory(Core& core, uint32_t number, Line& line, Picoseconds now);
  Fetched from_elsewhere(Core& core, uint32_t number, Line& line, Picoseconds now);
  Picoseconds invalidate_others(Core& core, uint32_t number, Line& line);
  void take_from_owner(uint32_t number, Line& line);
  void put(Core& core, uint32_t number, Line& line, bool writable);
  void drop(Core& core, uint32_t number);
  void put_in_shared_cache(uint32_t complex, uint32_t number, Line& line);
  void warm_shared_cache(uint32_t number);
  void check(uint32_t number, const Line& line) const;
  uint32_t nearest_holder(uint32_t complex, const Line& line) const;
  uint64_t& count_of_transfers(uint32_t far);
  uint32_t socket_of_home(uint32_t number) const;
  uint32_t distance_of_home(const Core& core, uint32_t number) const;

  const Machine& machine_;
  Line* const lines_;
  std::vector<Core> cores_;
  std::vector<TagStore> shared_;             // by complex
  std::vector<uint32_t> warmed_;             // the filter of warm()
  std::vector<Picoseconds> memory_free_at_;  // by socket
  AccessCounts counts_;
};

}  // namespace logjam::sim
