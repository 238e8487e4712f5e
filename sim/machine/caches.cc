#include "sim/machine/caches.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <string>

#include "platform/assert.h"
#include "platform/fatal.h"

namespace logjam::sim {
namespace {

constexpr uint64_t kLineStates = uint64_t{1} << 45;  // the address of the lines' states

constexpr uint8_t kMostWaiting = 127;  // further requests are not counted

uint64_t bit_of(uint32_t core) { return uint64_t{1} << core % 64; }

bool from_a_cache(Source source) {
  return source == Source::kSharedCache || source == Source::kFarCache;
}

template <class Function>
void for_each_bit(uint64_t bits, const Function& function) {
  for (; bits != 0; bits &= bits - 1) function(static_cast<uint32_t>(std::countr_zero(bits)));
}

template <class Function>
void for_each_sharer(const Line& line, const Function& function) {
  for (uint32_t word = 0; word < line.sharers.size(); ++word) {
    for_each_bit(line.sharers[word], [&](uint32_t bit) { function(word * 64 + bit); });
  }
}

TagStore cache_of(double kib, double ways) {
  return {static_cast<uint64_t>(kib * 1024), static_cast<uint32_t>(ways)};
}

}  // namespace

Core::Core(uint32_t number, const Machine& machine)
    : number(number),
      complex(machine.complex_of(number)),
      socket(machine.socket_of(number)),
      l1(cache_of(machine.profile.l1_kib, machine.profile.l1_ways)),
      l2(cache_of(machine.profile.l2_kib, machine.profile.l2_ways)) {}

Caches::Caches(const Machine& machine)
    : machine_(machine),
      lines_(static_cast<Line*>(map_at(kLineStates, kLines * sizeof(Line)))),
      touched_(static_cast<uint32_t*>(map_at(0, kMostTouches * sizeof(uint32_t)))),
      last_touch_(static_cast<uint32_t*>(map_at(0, kLines * sizeof(uint32_t)))) {
  const Profile& profile = machine.profile;
  const auto sockets = static_cast<uint32_t>(profile.sockets);
  for (uint32_t core = 0; core < static_cast<uint32_t>(sockets * profile.cores); ++core) {
    cores_.emplace_back(core, machine);
  }
  for (uint32_t complex = 0; complex < sockets * machine.complexes_of_socket; ++complex) {
    shared_.push_back(cache_of(profile.l3_mib * 1024, profile.l3_ways));
  }
  memory_free_at_.resize(sockets);
  filter_mask_ = std::min(kFilter, shared_.front().sets()) - 1;
  warmed_.fill(kNoLine);
}

Caches::~Caches() {
  munmap(lines_, kLines * sizeof(Line));
  munmap(touched_, kMostTouches * sizeof(uint32_t));
  munmap(last_touch_, kLines * sizeof(uint32_t));
}

Core::Stream& Caches::stream_of(Core& core, uint32_t line) {
  for (Core::Stream& stream : core.streams) {
    if (stream.next != line) continue;
    ++stream.next;
    ++stream.lines;
    return stream;
  }
  Core::Stream& stream = core.streams[core.next_stream++ % core.streams.size()];
  stream = {.next = line + 1};
  return stream;
}

bool Caches::in_private_cache(Core& core, uint32_t line, bool write, Picoseconds* cost) {
  if (core.l2.holds_nothing() || !core.l2.touch(line, write)) return false;
  ++counts_.second_level;
  *cost = machine_.l2;
  // The tag says whether the core owns the line, so the line's state is not needed.
  core.l1.insert(line, core.l2.is_most_recent(line, true));
  return true;
}

// Returns when the line's owner receives a request. If the owner still waits for the line and
// requests are served in order, computes this time from the line's arrival. The owner first uses
// the line for as long as a request from its own complex takes, and then serves one request after
// the other.
Caches::Heard Caches::heard_by_owner(const Core& core, uint32_t number, Picoseconds now) {
  Line& line = lines_[number];
  const uint32_t owner = line.owner_plus_1;
  if (owner == 0 || owner == core.number + 1) return {now, 0};
  const Picoseconds way = machine_.hold[machine_.distance(core.complex, cores_[owner - 1].complex)];
  if (machine_.profile.nearest_first != 0) return {std::max(now, line.arrives) + way, way};
  const Picoseconds arrived = line.arrives + machine_.hold[kSameComplex] + line.waiting;
  if (now + way >= arrived) return {now + way, way};
  const bool counted = line.waiting < kMostWaiting;
  if (counted) ++line.waiting;
  return {arrived, way, counted};
}

void Caches::expect(const Core& core, uint32_t line) const {
  __builtin_prefetch(&lines_[line], 1);
  __builtin_prefetch(address_of(line));
  if (!core.l2.holds_nothing()) {
    __builtin_prefetch(&lines_[core.l2.oldest(line)], 1);
  } else if (!core.l1.holds_nothing()) {
    __builtin_prefetch(&lines_[core.l1.oldest(line)], 1);
  }
  const TagStore& shared = shared_[core.complex];
  if (!shared.holds_nothing()) __builtin_prefetch(shared.first_of_set(line), 1);
}

void Caches::expect_fetch(const Core& core, uint32_t line) const {
  const TagStore& shared = shared_[core.complex];
  if (!shared.holds_nothing()) __builtin_prefetch(&lines_[shared.oldest(line)], 1);
}

Caches::Fetched Caches::fetch(Core& core, uint32_t number, bool write, const Heard& heard) {
  const auto [now, passed, queued_for_line] = heard;
  Line& line = lines_[number];
  if (queued_for_line) --line.waiting;
  const bool has_it = (line.sharers[core.number / 64] & bit_of(core.number)) != 0;
  const bool owns = line.owner_plus_1 == core.number + 1;  // a sibling has fetched the line
  const bool owned = line.owner_plus_1 != 0 && !owns;
  uint32_t from = owned ? cores_[line.owner_plus_1 - 1U].complex : core.complex;
  Fetched fetched = has_it ? Fetched{} : from_elsewhere(core, number, line, now);
  const Picoseconds queued = fetched.cost - fetched.latency;
  bool passed_on = owned;
  const Picoseconds upgrade = write ? invalidate_others(core, number, line, &from) : 0;
  if (write && !owned) {
    passed_on |= upgrade != 0;
    // A core that has the line does not know whether other cores have it too. So a write waits for
    // the right to write, even if no other core has the line.
    fetched.latency =
        std::max({fetched.latency, upgrade, has_it && !owns ? machine_.upgrade[kSameComplex] : 0});
  }
  const Picoseconds latency = fetched.latency + queued;
  // A line serves no third core during a part of its transfer between cores of a complex, and
  // during the whole turn of its home otherwise. The line reaches cores in the order of their
  // requests, even if a core that asked earlier is further away. A clean line serves many cores at
  // once.
  const Picoseconds begin = std::max(now, line.busy_until) - std::min(passed, latency);
  Picoseconds end = std::max(begin + latency, line.arrives);
  if (passed_on) {
    const Picoseconds occupied = machine_.occupied(latency);
    const Picoseconds turn =
        from == core.complex ? occupied : turn_of_home(core, from, number, latency);
    end = std::max(end, line.arrives + turn);
    line.busy_until = end - latency + occupied;
    ++line.transfers;
  } else if (!write && from_a_cache(fetched.source)) {
    line.busy_until = std::max(line.busy_until, end - latency) + machine_.read_occupancy;
  }
  if (end != begin + latency || begin > now) ++counts_.waits_for_line;
  // The copy is writable only if no other copy exists, because a store to it asks no other cache.
  bool others = (line.shared_caches & ~(1U << core.complex)) != 0;
  for (uint32_t word = 0; word < line.sharers.size(); ++word) {
    const uint64_t own = word == core.number / 64 ? bit_of(core.number) : 0;
    others |= (line.sharers[word] & ~own) != 0;
  }
  const bool writable = write || !others;
  if (passed_on || writable) line.arrives = end;
  put(core, number, line, writable);
  if (machine_.checks_itself) check(number, line);
  fetched.cost = end - now;
  return fetched;
}

Caches::FarAtomic Caches::far_atomic(Core& core, uint32_t number, Picoseconds now) {
  Line& line = lines_[number];
  const bool owns = line.owner_plus_1 == core.number + 1;
  const bool here = owns || (line.shared_caches >> core.complex & 1) != 0;
  uint32_t from = core.complex;
  Fetched fetched{.latency = machine_.clean[kSameComplex], .cost = machine_.clean[kSameComplex]};
  if (!owns) fetched = from_elsewhere(core, number, line, now);
  const Picoseconds upgrade = invalidate_others(core, number, line, &from);
  const Picoseconds latency = std::max(fetched.latency, upgrade);
  core.l1.remove(number);
  core.l2.remove(number);
  line.sharers[core.number / 64] &= ~bit_of(core.number);
  put_in_shared_cache(core.complex, number, line);
  line.written = 1;
  if (machine_.checks_itself) check(number, line);

  const Picoseconds asked = now + fetched.cost - fetched.latency;
  const Picoseconds begins = std::max({asked, line.busy_until, line.arrives});
  if (begins > asked) ++counts_.waits_for_line;
  const Picoseconds fetching = here ? 0 : machine_.occupied(latency);
  const Picoseconds turn =
      from == core.complex ? fetching : turn_of_home(core, from, number, latency);
  line.busy_until = begins + std::max(turn, machine_.far_atomic);
  ++line.transfers;
  return {begins, latency};
}

// Returns the time between a line's arrival at its last complex and the earliest arrival from there
// at the core's complex, if the core's request already waits at the line's home. The home asks the
// complex `from` when that complex has acknowledged the arrival. So the messages travel from `from`
// to the home, back, and to the core. On average that is the way of a lone request: from the core
// to the home, to `from`, and to the core. The latency includes this way for a home in one of these
// two sockets. A home in a third socket is a detour.
Picoseconds Caches::turn_of_home(const Core& core, uint32_t from, uint32_t number,
                                 Picoseconds latency) const {
  const uint32_t home = socket_of_home(number);
  const auto way = [&](uint32_t complex) {
    return machine_.way[machine_.distance_of_memory(complex, home)];
  };
  const Picoseconds by_home = way(core.complex) + way(from);
  const Picoseconds direct = machine_.way[machine_.distance(core.complex, from)];
  return latency + by_home - std::min(by_home, direct);
}

// Ends the process if the line's state does not agree with the cores' tags.
void Caches::check(uint32_t number, const Line& line) const {
  for (const Core& core : cores_) {
    const bool sharer = (line.sharers[core.number / 64] & bit_of(core.number)) != 0;
    if (sharer != (core.l1.has(number) || core.l2.has(number))) {
      platform::fatal("the simulation is wrong: a line and the tags of core " +
                      std::to_string(core.number) + " do not agree");
    }
    if (sharer && line.owner_plus_1 != 0 && line.owner_plus_1 != core.number + 1) {
      platform::fatal("the simulation is wrong: a line has an owner and another sharer");
    }
  }
}

Caches::Fetched Caches::from_elsewhere(Core& core, uint32_t number, Line& line, Picoseconds now) {
  if (line.owner_plus_1 != 0) {
    const uint32_t far = machine_.distance(core.complex, cores_[line.owner_plus_1 - 1U].complex);
    ++count_of_transfers(far);
    take_from_owner(number, line);
    put_in_shared_cache(core.complex, number, line);
    return {Source::kOwner, far, machine_.dirty[far], machine_.dirty[far]};
  }
  const uint32_t far = nearest_holder(core.complex, line);
  // Memory also answers for a clean line, if memory is nearer than the caches that have the line.
  const bool memory_is_nearer =
      far != kDistances && far != kSameComplex && line.written == 0 &&
      machine_.memory[distance_of_home(core, number)] < machine_.clean[far];
  if (far == kDistances || memory_is_nearer) {
    return from_memory(core, number, line, now);
  }
  if (far != kSameComplex) {
    ++count_of_transfers(far);
    put_in_shared_cache(core.complex, number, line);
    return {Source::kFarCache, far, machine_.clean[far], machine_.clean[far]};
  }
  ++counts_.shared_cache;
  if (!shared_[core.complex].holds_nothing()) {
    shared_[core.complex].touch(number, false);  // now the most recent one
  }
  return {Source::kSharedCache, far, machine_.clean[far], machine_.clean[far]};
}

uint64_t& Caches::count_of_transfers(uint32_t far) {
  if (far == kSameComplex) return counts_.other_core;
  return far == kSameSocket ? counts_.other_complex : counts_.other_socket;
}

uint32_t Caches::nearest_holder(uint32_t complex, const Line& line) const {
  uint32_t nearest = kDistances;
  for_each_bit(line.shared_caches, [&](uint32_t other) {
    nearest = std::min(nearest, machine_.distance(complex, other));
  });
  if (nearest == kSameComplex) return nearest;
  for_each_sharer(line, [&](uint32_t sharer) {
    nearest = std::min(nearest, machine_.distance(complex, cores_[sharer].complex));
  });
  return nearest;
}

uint32_t Caches::socket_of_home(uint32_t number) const {
  return std::min(home_of(number), static_cast<uint32_t>(memory_free_at_.size()) - 1);
}

uint32_t Caches::distance_of_home(const Core& core, uint32_t number) const {
  return machine_.distance_of_memory(core.complex, socket_of_home(number));
}

Caches::Fetched Caches::from_memory(Core& core, uint32_t number, Line& line, Picoseconds now) {
  const uint32_t far = distance_of_home(core, number);
  ++(far <= kSameSocket ? counts_.memory : counts_.remote_memory);
  Picoseconds& free_at = memory_free_at_[socket_of_home(number)];
  // A context may run ahead of the order of the clocks by up to `look_ahead`, and then requests its
  // line too early. So its wait is shorter by that time.
  const Picoseconds begin = std::max(now, free_at - std::min(free_at, machine_.look_ahead));
  free_at = std::max(now, free_at) + machine_.line_transfer;
  line.written = 0;
  put_in_shared_cache(core.complex, number, line);
  return {Source::kMemory, far, machine_.memory[far], begin - now + machine_.memory[far]};
}

// Makes the owner's copy read-only, and writes the line into the shared cache of the owner's
// complex and into memory. The model charges no bandwidth for this write.
void Caches::take_from_owner(uint32_t number, Line& line) {
  LJ_ASSERT(line.owner_plus_1 != 0);
  Core& owner = cores_[line.owner_plus_1 - 1U];
  owner.l1.make_read_only(number);
  owner.l2.make_read_only(number);
  line.owner_plus_1 = 0;
  line.written = 0;
  put_in_shared_cache(owner.complex, number, line);
}

// Removes the line from all other caches. Returns how long that takes; 0 if none has the line. Sets
// `*farthest` to the complex of the farthest of these caches, if it is not the core's.
Picoseconds Caches::invalidate_others(Core& core, uint32_t number, Line& line, uint32_t* farthest) {
  uint32_t distance = kSameComplex, sharers = 0;
  bool any = false;
  const auto dropped_by = [&](uint32_t complex) {
    any = true;
    const uint32_t far = machine_.distance(core.complex, complex);
    if (far <= distance) return;
    distance = far;
    *farthest = complex;
  };
  for_each_sharer(line, [&](uint32_t sharer) {
    if (sharer == core.number) return;
    dropped_by(cores_[sharer].complex);
    ++sharers;
    cores_[sharer].l1.remove(number);
    cores_[sharer].l2.remove(number);
    line.sharers[sharer / 64] &= ~bit_of(sharer);
  });
  const uint32_t own = line.shared_caches & 1U << core.complex;
  for_each_bit(line.shared_caches ^ own, [&](uint32_t other) {
    shared_[other].remove(number);
    dropped_by(other);
  });
  line.shared_caches = own;
  line.owner_plus_1 = 0;
  if (!any) return 0;
  ++counts_.upgrades;
  return machine_.upgrade[distance] + (sharers - std::min(sharers, 1U)) * machine_.sharer;
}

void Caches::put(Core& core, uint32_t number, Line& line, bool writable) {
  LJ_ASSERT(line.owner_plus_1 == 0 || line.owner_plus_1 == core.number + 1);
  line.sharers[core.number / 64] |= bit_of(core.number);
  if (writable) line.owner_plus_1 = static_cast<uint16_t>(core.number + 1);
  const uint32_t from_l1 = core.l1.insert(number, writable);
  if (core.l2.holds_nothing()) {
    if (from_l1 != kNoLine) drop(core, from_l1);
    return;
  }
  const uint32_t from_l2 = core.l2.insert(number, writable);
  if (from_l2 == kNoLine) return;
  core.l1.remove(from_l2);
  drop(core, from_l2);
}

void Caches::drop(Core& core, uint32_t number) {
  Line& line = lines_[number];
  LJ_ASSERT((line.sharers[core.number / 64] & bit_of(core.number)) != 0);
  line.sharers[core.number / 64] &= ~bit_of(core.number);
  if (line.owner_plus_1 != core.number + 1) return;
  line.owner_plus_1 = 0;
  line.written = 1;  // perhaps: the model does not know whether the owner has stored
  put_in_shared_cache(core.complex, number, line);
}

void Caches::put_in_shared_cache(uint32_t complex, uint32_t number, Line& line) {
  TagStore& cache = shared_[complex];
  if (cache.holds_nothing() || (line.shared_caches >> complex & 1) != 0) return;
  line.shared_caches |= 1U << complex;
  const uint32_t left = cache.insert(number, false);
  if (left != kNoLine) lines_[left].shared_caches &= ~(1U << complex);
}

void Caches::fill_shared_caches() {
  for (uint32_t touch = 0; touch < touches_; ++touch) {
    const uint32_t line = touched_[touch];
    if (last_touch_[line] == touch) warm_shared_cache(line);
  }
  touches_ = 0;
  warmed_.fill(kNoLine);
}

void Caches::warm_shared_cache(uint32_t number) {
  // The quotient lets each complex use all its sets, although the number of complexes may divide
  // the number of sets.
  const uint32_t turn = (number + number / shared_.front().sets()) % machine_.complexes_of_socket;
  const uint32_t complex = socket_of_home(number) * machine_.complexes_of_socket + turn;
  TagStore& cache = shared_[complex];
  if (cache.holds_nothing() || cache.touch(number, false)) return;
  put_in_shared_cache(complex, number, lines_[number]);
}

}  // namespace logjam::sim
