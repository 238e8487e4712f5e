// Data races of an explored schedule: two accesses to the same bytes, of two threads, of which one
// is a store and one is no atomic operation, and which nothing orders. The orders are those that
// the program asks for (acquire, release, fences), not those that x86 gives for free. So a relaxed
// store in the place of a release store is found on any schedule in which the data is used.
//
// Each thread has a vector clock. Each atomic variable has one, too: a thread that acquires the
// value learns it. An access is kept as an epoch, the thread and its time. (Flanagan and Freund,
// "FastTrack: Efficient and Precise Dynamic Race Detection", PLDI 2009. The happens-before
// relation is C++20's: a fence makes the relaxed operations beside it acquire or release; a
// read-modify-write continues a release sequence, and a relaxed store ends it.)
//
// Accesses to the stacks of threads are not kept, because a stack's bytes get new owners. Nor are
// the main thread's plain accesses. The stores of a watched schedule are not late: an atomic
// variable has one clock, that of the value that all threads see.
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
    kChecked  // a load whose reader notices later stores, so nothing need order them after it
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

  // Treats the atomic operations at the sites in `weakened` as relaxed, whatever order they ask
  // for. A site is the address after the call. If a race is then found, it shows why the program
  // needs the stronger order.
  explicit DataRaces(const std::vector<uint64_t>& weakened = {})
      : weakened_(weakened.begin(), weakened.end()) {}
  // Returns how many operations have counted as relaxed although they are not.
  uint64_t weakened_operations() const { return weakened_operations_; }

  // Notes what a thread knows at its start, and its joiner after its end. Threads are named by
  // their numbers; the main thread is 0.
  void started(uint32_t parent, uint32_t child);
  void joined(uint32_t waiter, uint32_t ended);

  // Notes an access, and returns an earlier one with which it races.
  std::optional<Race> access(uint32_t thread, Site site, const void* at, size_t bytes, Kind kind);

  // Notes the orders that an atomic operation asks for (__ATOMIC_*), as it is done.
  void loaded(uint32_t thread, Site site, const void* at, int order);
  void stored(uint32_t thread, Site site, const void* at, int order);
  void modified(uint32_t thread, Site site, const void* at, int order);
  void fenced(uint32_t thread, int order);

  // Forgets the thread's accesses from here on, or keeps them again: they race on purpose.
  void ignore(uint32_t thread, bool ignored) { state(thread).ignored = ignored; }

 private:
  // The latest time of each thread that is known: its accesses up to then are ordered.
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
    Clock acquired;  // by relaxed loads: known after a fence
    Clock released;  // at the last fence: what relaxed stores release
    bool ignored = false;
  };
  // An access to some bytes of a word.
  struct Epoch {
    Access by;
    uint64_t time;
    uint8_t bytes;  // a bit for each byte
  };

  Thread& state(uint32_t thread);
  // Returns the order that counts for an operation at the site.
  int weaken(Site site, int order);
  void acquire(Thread& thread, const void* at, int order);
  std::optional<Race> access_word(const Epoch& now, uintptr_t word);

  std::set<uint64_t> weakened_;
  uint64_t weakened_operations_ = 0;
  std::deque<Thread> threads_;  // by their numbers; references to them stay valid
  std::unordered_map<const void*, Clock> clocks_;             // of atomic variables
  std::unordered_map<uintptr_t, std::vector<Epoch>> epochs_;  // by the address of the word
};

// The races of the schedule that is watched; null: nobody watches.
extern DataRaces* data_races;

}  // namespace logjam::sim
