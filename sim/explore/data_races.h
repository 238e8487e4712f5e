// Data races of an explored schedule: two threads access the same bytes, their accesses are
// unordered, at least one is a store, and at least one is not atomic. Only the orders for which the
// program asks count (acquire, release, fences). The orders that x86 gives for free do not count.
// So if a store lacks release, any schedule in which a thread uses the stored data shows a race.
//
// Each thread and each atomic variable has a vector clock. A thread that acquires the variable's
// value raises its own clock to the variable's clock. An access is kept as an epoch: the thread and
// its time. (Flanagan and Freund, "FastTrack: Efficient and Precise Dynamic Race Detection", PLDI
// 2009. The happens-before relation is that of C++20: a fence makes the relaxed operations next to
// it acquire or release; a read-modify-write continues a release sequence, and a relaxed store ends
// the sequence.)
//
// Accesses to stacks are not kept, because other fibers get the memory of a stack later. Plain
// accesses of the main thread are not kept either. While the explorer watches for races, no store
// is late, so that an atomic variable has one value, and one clock, for all threads.
//
// Only the explorer and the hooks use these objects, on the one host thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

namespace logjam::sim {

class DataRaces {
 public:
  using Site = const void*;
  enum class Kind : uint8_t {
    kLoad,
    kStore,
    kAtomicLoad,
    kAtomicStore,
    kChecked  // a load whose result is checked afterwards: a later store does not race with it
  };
  // One side of a race.
  struct Access {
    uint32_t thread;
    Kind kind;
    Site site;

    bool writes() const { return kind == Kind::kStore || kind == Kind::kAtomicStore; }
    bool is_atomic() const { return kind == Kind::kAtomicLoad || kind == Kind::kAtomicStore; }
  };
  struct Race {
    Access earlier, later;
  };

  // Treats the atomic operations at the sites in `weakened` as relaxed. A site is the address after
  // the call of the hook. A race that is then found shows why the program needs the stronger order.
  explicit DataRaces(const std::vector<uint64_t>& weakened = {})
      : weakened_(weakened.begin(), weakened.end()) {}
  uint64_t weakened_operations() const { return weakened_operations_; }

  // Notes that a thread begins with its parent's clock, or that a thread has joined a thread that
  // has ended. Threads are named by their numbers; the main thread is 0.
  void started(uint32_t parent, uint32_t child);
  void joined(uint32_t waiter, uint32_t ended);

  // Notes an access. Returns its race with an earlier access, if there is one.
  std::optional<Race> access(uint32_t thread, Site site, const void* at, size_t bytes, Kind kind);

  // Notes an atomic operation or a fence with the memory order `order` (__ATOMIC_*).
  void loaded(uint32_t thread, Site site, const void* at, int order);
  void stored(uint32_t thread, Site site, const void* at, int order);
  void modified(uint32_t thread, Site site, const void* at, int order);
  void fenced(uint32_t thread, int order);

  // Sets whether the thread's accesses are ignored, because they race on purpose.
  void ignore(uint32_t thread, bool ignored) { state(thread).ignored = ignored; }

 private:
  // A vector clock. An access of thread `t` happened before the clock if the access's time is at
  // most `of(t)`.
  class Clock {
   public:
    uint64_t of(uint32_t thread) const { return thread < times_.size() ? times_[thread] : 0; }
    void raise(const Clock& other);
    void tick(uint32_t thread);

   private:
    std::vector<uint64_t> times_;
  };
  struct Thread {
    Clock clock;
    Clock acquired;  // from relaxed loads; a fence adds this clock to `clock`
    Clock released;  // `clock` at the last fence; relaxed stores release this clock
    bool ignored = false;
  };
  // An access to some bytes of a word.
  struct Epoch {
    Access by;
    uint64_t time;
    uint8_t bytes;  // a bit for each byte
  };

  Thread& state(uint32_t thread);
  // Returns the order of an operation at the site: `order`, or relaxed if the site is weakened.
  int weaken(Site site, int order);
  void acquire(Thread& thread, const void* at, int order);
  std::optional<Race> access_word(const Epoch& now, uintptr_t word);

  std::set<uint64_t> weakened_;
  uint64_t weakened_operations_ = 0;
  std::deque<Thread> threads_;  // by their numbers; references to them stay valid
  std::unordered_map<const void*, Clock> clocks_;             // of atomic variables
  std::unordered_map<uintptr_t, std::vector<Epoch>> epochs_;  // by the address of the word
};

// The races of the schedule; null: the schedule does not watch for races.
extern DataRaces* data_races;

}  // namespace logjam::sim
