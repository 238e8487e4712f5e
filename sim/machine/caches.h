// The price of an access to memory: the cores' caches, their coherence, memory. docs/SIMULATION.md
// has the prices, and the list of effects that are not modelled.
//
// Each cache line has a state (Line), and each core has the tags of its private caches. A core has
// the tag of a cache line if and only if the state names the core among the sharers.
//
// An access that the core's own caches cannot answer comes here in the order of the clocks. A
// core's request changes the state at once. Then this core waits for the line, and Line::busy_until
// makes the next core wait. Only the one host thread calls these functions.
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
  kStore,
  kAtomic,  // a read-modify-write
  kPrefetch,
};

inline constexpr uint32_t kMostCores = 256;

// Where a cache line comes from.
enum class Source : uint8_t {
  kOwnCopy,      // the core has the line, and asks for the right to write
  kOwner,        // another core, which may write the line
  kSharedCache,  // the cache of the core's complex, or a core of the complex with a clean copy
  kFarCache,     // caches of another complex
  kMemory,
};

struct alignas(64) Line {
  std::array<uint64_t, kMostCores / 64> sharers;  // a bit for each core
  Picoseconds busy_until;
  Picoseconds arrives;     // at the last core that got the owner's copy, or the only copy
  uint32_t shared_caches;  // a bit for each complex whose shared cache has the line
  uint16_t owner_plus_1;   // the core that may write the line; 0: no core may
  uint16_t waiting : 15;   // requests that wait for the line's arrival at its owner
  uint16_t written : 1;    // a shared cache has newer bytes than memory
  uint64_t transfers;      // from core to core, and upgrades
};
static_assert(sizeof(Line) == 64);

// The part of a core that its hardware contexts share.
struct Core {
  Core(uint32_t number, const Machine& machine);

  uint32_t number, complex, socket;
  TagStore l1, l2;
  struct Stream {
    uint32_t next = kNoLine;  // the line after the last miss
    uint32_t lines = 0;       // that were missed in a row before the last miss
    Picoseconds ready = 0;    // when the line of the last miss arrived
  };
  std::array<Stream, 8> streams{};
  uint32_t next_stream = 0;
};

// How many accesses left their core, by the cache or memory that answered them.
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

  // Returns whether the core's L2 can answer the access. If so, sets `*cost` to the answer's time.
  bool in_private_cache(Core& core, uint32_t line, bool write, Picoseconds* cost);
  // When a line's owner receives a request, and how much time of the transfer has passed then.
  struct Heard {
    Picoseconds at, passed;
    bool queued = false;  // the request is counted in Line::waiting until fetch()
  };
  // Returns when the line's owner receives a request that is sent at `now`; {now, 0} if no other
  // core owns the line. Requests that wait for the line's arrival at the owner are served in the
  // order in which they were sent, or the nearest core's request first if the profile says so.
  Heard heard_by_owner(const Core& core, uint32_t line, Picoseconds now);
  // Prefetches most data of fetch() into the host's caches. Call it when the core begins to wait.
  void expect(const Core& core, uint32_t line) const;
  // Prefetches the other data of fetch() into the host's caches. Call it when other cores have had
  // their turn.
  void expect_fetch(const Core& core, uint32_t line) const;
  // The source and the price of a fetched line.
  struct Fetched {
    Source source = Source::kOwnCopy;
    uint32_t far = 0;         // the distance of the source
    Picoseconds latency = 0;  // of the source alone
    Picoseconds cost = 0;     // the latency, and the waits for a line under way and for busy memory
  };
  // Fetches the line at `heard.at`, when the core has already waited for `heard.passed`.
  Fetched fetch(Core& core, uint32_t line, bool write, const Heard& heard);
  // Executes an atomic operation in the shared cache of the core's complex, on a machine with
  // `far_atomic_cycles`. Removes the line from all cores. Returns when the operation begins, and
  // its duration without `rmw_cycles`.
  struct FarAtomic {
    Picoseconds begins, latency;
  };
  FarAtomic far_atomic(Core& core, uint32_t line, Picoseconds now);
  // Returns the stream that the core's miss of this line continues or begins.
  static Core::Stream& stream_of(Core& core, uint32_t line);

  // Returns whether warm() would change nothing, because it touched no other line of the line's set
  // since it touched this line. The filter has one element for all lines of some sets.
  bool is_warm(uint32_t line) const { return warmed_[line & filter_mask_] == line; }
  // Notes that a line, or the line of which it is an alias, is to be in a shared cache of its home
  // socket, as the most recent line. This function looks up no tags, because only the order of the
  // last touches matters.
  void warm(uint32_t line) {
    if (touches_ == kMostTouches) fill_shared_caches();
    const uint32_t resolved = resolve_alias(line);
    if (resolved == line) warmed_[line & filter_mask_] = line;
    last_touch_[resolved] = touches_;
    touched_[touches_++] = resolved;
  }
  // Puts the lines of warm() into the shared caches, in no time and in the order of their last
  // touches. The complexes of a socket take lines in turn. Call it before cores use the caches.
  void fill_shared_caches();

 private:
  Fetched from_memory(Core& core, uint32_t number, Line& line, Picoseconds now);
  Fetched from_elsewhere(Core& core, uint32_t number, Line& line, Picoseconds now);
  Picoseconds invalidate_others(Core& core, uint32_t number, Line& line, uint32_t* farthest);
  Picoseconds turn_of_home(const Core& core, uint32_t from, uint32_t number,
                           Picoseconds latency) const;
  void take_from_owner(uint32_t number, Line& line);
  void put(Core& core, uint32_t number, Line& line, bool writable);
  void drop(Core& core, uint32_t number);
  void put_in_shared_cache(uint32_t complex, uint32_t number, Line& line);
  void warm_shared_cache(uint32_t number);
  static constexpr uint32_t kMostTouches = 1 << 24;
  void check(uint32_t number, const Line& line) const;
  uint32_t nearest_holder(uint32_t complex, const Line& line) const;
  uint64_t& count_of_transfers(uint32_t far);
  uint32_t socket_of_home(uint32_t number) const;
  uint32_t distance_of_home(const Core& core, uint32_t number) const;

  const Machine& machine_;
  Line* const lines_;
  std::vector<Core> cores_;
  std::vector<TagStore> shared_;  // by complex
  static constexpr uint32_t kFilter = 1024;
  std::array<uint32_t, kFilter> warmed_;  // the filter of is_warm()
  uint32_t filter_mask_;
  uint32_t* const touched_;     // the lines of warm() since fill_shared_caches(), in order
  uint32_t* const last_touch_;  // by line: the index of its last element of `touched_`
  uint32_t touches_ = 0;
  std::vector<Picoseconds> memory_free_at_;  // by socket
  AccessCounts counts_;
};

}  // namespace logjam::sim
