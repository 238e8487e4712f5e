#include "sim/explore/data_races.h"

#include <algorithm>

#include "platform/assert.h"
#include "sim/region.h"

namespace logjam::sim {

DataRaces* data_races = nullptr;

namespace {

constexpr uintptr_t kWord = 8;

bool acquires(int order) { return order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE; }
bool releases(int order) {
  return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

// Returns the first of the two addresses that a byte of a mirrored ring has.
uintptr_t one_address(uintptr_t at) {
  const uint32_t line = line_of(reinterpret_cast<const void*>(at));
  return reinterpret_cast<uintptr_t>(address_of(resolve_alias(line))) + at % kLineBytes;
}

}  // namespace

void DataRaces::Clock::raise(const Clock& other) {
  if (times_.size() < other.times_.size()) times_.resize(other.times_.size());
  for (size_t i = 0; i < other.times_.size(); ++i) {
    times_[i] = std::max(times_[i], other.times_[i]);
  }
}

void DataRaces::Clock::tick(uint32_t thread) {
  if (times_.size() <= thread) times_.resize(thread + 1);
  ++times_[thread];
}

DataRaces::Thread& DataRaces::state(uint32_t thread) {
  while (threads_.size() <= thread) {
    threads_.emplace_back();
    threads_.back().clock.tick(static_cast<uint32_t>(threads_.size() - 1));
  }
  return threads_[thread];
}

void DataRaces::started(uint32_t parent, uint32_t child) {
  LJ_ASSERT(parent != child);
  state(child).clock.raise(state(parent).clock);
  state(parent).clock.tick(parent);
}

void DataRaces::joined(uint32_t waiter, uint32_t ended) {
  LJ_ASSERT(waiter != ended);
  state(waiter).clock.raise(state(ended).clock);
}

std::optional<DataRaces::Race> DataRaces::access(uint32_t thread, Site site, const void* at,
                                                 size_t bytes, Kind kind) {
  LJ_ASSERT(bytes > 0);
  const Thread& self = state(thread);
  if (self.ignored) return std::nullopt;
  Epoch now = {{thread, kind, site}, self.clock.of(thread), 0};
  const auto begin = reinterpret_cast<uintptr_t>(at), end = begin + bytes;
  for (uintptr_t word = begin / kWord * kWord; word < end; word += kWord) {
    now.bytes = 0;
    for (uintptr_t i = std::max(word, begin); i < std::min(word + kWord, end); ++i) {
      now.bytes |= static_cast<uint8_t>(1 << (i - word));
    }
    if (const auto race = access_word(now, one_address(word))) return race;
  }
  return std::nullopt;
}

std::optional<DataRaces::Race> DataRaces::access_word(const Epoch& now, uintptr_t word) {
  const Clock& known = state(now.by.thread).clock;
  std::vector<Epoch>& epochs = epochs_[word];
  const auto is_ordered = [&](const Epoch& earlier) {
    return earlier.by.thread == now.by.thread || earlier.time <= known.of(earlier.by.thread);
  };
  for (const Epoch& earlier : epochs) {
    if ((earlier.bytes & now.bytes) == 0 || (earlier.by.is_atomic() && now.by.is_atomic()) ||
        (!earlier.by.writes() && !now.by.writes()) || is_ordered(earlier)) {
      continue;
    }
    return Race{earlier.by, now.by};
  }
  if (now.by.kind == Kind::kChecked) return std::nullopt;
  // Drops the earlier access if this access can stand for it: each later access that races with the
  // earlier access also races with this access.
  std::erase_if(epochs, [&](const Epoch& earlier) {
    return (earlier.bytes & ~now.bytes) == 0 && is_ordered(earlier) &&
           (now.by.writes() || (!earlier.by.writes() && earlier.by.thread == now.by.thread)) &&
           (!now.by.is_atomic() || earlier.by.is_atomic());
  });
  epochs.push_back(now);
  return std::nullopt;
}

void DataRaces::acquire(Thread& thread, const void* at, int order) {
  const auto found = clocks_.find(at);
  if (found == clocks_.end()) return;
  (acquires(order) ? thread.clock : thread.acquired).raise(found->second);
}

int DataRaces::weaken(Site site, int order) {
  if (weakened_.empty() || order == __ATOMIC_RELAXED) return order;
  if (!weakened_.contains(reinterpret_cast<uintptr_t>(site))) return order;
  ++weakened_operations_;
  return __ATOMIC_RELAXED;
}

void DataRaces::loaded(uint32_t thread, Site site, const void* at, int order) {
  acquire(state(thread), at, weaken(site, order));
}

void DataRaces::stored(uint32_t thread, Site site, const void* at, int order) {
  Thread& self = state(thread);
  order = weaken(site, order);
  clocks_[at] = releases(order) ? self.clock : self.released;
  self.clock.tick(thread);
}

void DataRaces::modified(uint32_t thread, Site site, const void* at, int order) {
  Thread& self = state(thread);
  order = weaken(site, order);
  acquire(self, at, order);
  clocks_[at].raise(releases(order) ? self.clock : self.released);
  self.clock.tick(thread);
}

void DataRaces::fenced(uint32_t thread, int order) {
  Thread& self = state(thread);
  if (acquires(order)) self.clock.raise(self.acquired);
  if (!releases(order)) return;
  self.released = self.clock;
  self.clock.tick(thread);
}

}  // namespace logjam::sim
