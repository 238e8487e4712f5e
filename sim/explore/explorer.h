// The kernel that explores: fibers run one step at a time, in an order that is chosen at random
// from a seed, with stores as late as x86 allows. No step costs anything: the explorer uses neither
// the clocks nor the caches of the simulated machine.
//
// A step is an access to memory that threads share (a load, a store, an atomic operation, a fence,
// 8 bytes of a copy), or a call of the kernel or of the file system. Before each step another fiber
// may go on. Plain accesses to the fiber's own stack are no steps. Atomic accesses to this stack
// are steps, because the node of a lock's waiter may lie there. The main thread loads, waits and
// reports: only its calls are steps.
//
// Stores. A store is noted in the fiber's StoreBuffer. After the fiber's turn the Order chooses how
// many of these stores other fibers see. Read-modify-writes, fences and calls of the kernel make
// all stores visible. A store to the fiber's own stack is visible at once.
//
// Time. There is one clock, which advances by kStepTime at each step. When no fiber can go on, the
// clock jumps to the next timer. The Order may also choose such a jump earlier.
//
// Waiting. A fiber that pauses or yields is spinning. The explorer lets it wait until another
// fiber's store has become visible, because only such a store can end the spin. A store that became
// visible during the spin's last round counts too. So a spin takes few steps in any order.
//
// Crashes. At steps that the seed chooses the process forks, and the child checks the files that a
// crash would leave. As only one host thread runs, a fork is a snapshot. The parent goes on.
//
// If Schedule::late_disk is set, some calls of the file system take time before or after their
// work. Other fibers go on meanwhile.
//
// These errors end the schedule with a sentence: all fibers wait, and none except the main thread
// has a timer; the schedule does not end; a fiber touches freed memory; two accesses race
// (data_races.h), if the schedule watches for races.
//
// Protocol. Only one host thread uses the explorer. `exploring` is null while the explorer itself,
// a file system or the main thread runs: their accesses are not steps.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "platform/exploration.h"
#include "platform/random.h"
#include "sim/explore/data_races.h"
#include "sim/explore/order.h"
#include "sim/explore/store_buffer.h"
#include "sim/kernel.h"
#include "sim/machine/caches.h"

namespace logjam::sim {

class Explorer final : public Kernel {
 public:
  // Explores in `order`, or in the order that the schedule names if `order` is null.
  explicit Explorer(const platform::Schedule& schedule, std::unique_ptr<Order> order = nullptr);
  ~Explorer() override;

  // Begins or ends the exploration. Outside of the exploration, fibers switch only where they wait.
  void begin();
  void end();
  // Returns the explorer between its begin() and end(), or null.
  static Explorer* now_exploring() { return begun_; }

  // Makes a step of the program, as the next four functions do. A step may switch fibers.
  void access(const void* site, void* at, size_t bytes, Access kind);
  void atomic_load(const void* site, const void* at) { touch(site, at); }
  void atomic_store(const void* site, void* at, size_t bytes, bool sequentially_consistent);
  void read_modify_write(const void* site, const void* at);
  void fence();
  // Notes the memory order (__ATOMIC_*) of a finished atomic operation, also of the main thread.
  enum class Operation : uint8_t { kLoad, kStore, kModify };
  void done(const void* site, const void* at, size_t bytes, Operation operation, int order);
  // Ends the schedule if the access races with an earlier one.
  void watch(const void* site, const void* at, size_t bytes, DataRaces::Kind kind);
  void fence_done(int order) { data_races->fenced(current_->id, order); }
  // Makes a step at the end of a call of the file system if `returned`, else at its beginning.
  void file_call(bool returned);
  // Forks a child that checks the files after a crash here, unless Schedule::most_crashes crashes
  // are done. maybe_crash() does this in one of `times` calls, crash() in each.
  void maybe_crash(uint64_t times, bool in_a_file_call);
  void crash(bool in_a_file_call, bool before_step);
  // Checks a crash at the end of the program, even after Schedule::most_crashes crashes.
  void crash_at_end();
  // Makes all stores of the running fiber visible, for example before it frees memory.
  void commit_all();

  Fiber* spawn(std::function<void()> body) override;
  Picoseconds now() const override;
  bool observing() const override { return current_->id == 0; }
  bool has_disk() const override { return true; }
  void spend(Picoseconds time) override { jumped_ += time; }
  void yield() override;
  void pause() override;
  void sleep(Picoseconds time) override;
  void join(Fiber* fiber) override;
  void before_wait() override;
  void wait(const void* address, Picoseconds timeout) override;
  void wake(const void* address, uint32_t most) override;
  void pin(uint32_t) override {}
  void pin_to_socket(uint32_t) override {}

  const platform::Explored& result() const { return result_; }

 private:
  enum class State : uint8_t { kReady, kWaiting, kSpinning, kEnded };
  struct Thread {
    Fiber* fiber = nullptr;
    State state = State::kReady;
    Picoseconds timer = 0;  // when the thread's wait ends; 0: never
    bool patient = false;   // the timeout is longer than Schedule::longest_timeout_ns
    uint64_t asked = 0;     // the number of this wait, counted over all threads
    uint64_t landed = 0;    // stores of this thread that other threads see
    uint64_t round = 0;     // visible stores of other threads when this round of a spin began
    uint64_t seen = 0;      // if kSpinning: the value of `round` for the spin's last round
    uint64_t steps = 0;     // this thread's steps in its ended turns
    uint64_t calls = 0;     // begins and ends of this thread's calls of the file system
    uint64_t stopped = 0;   // the schedule's step at which the thread waited, or lost its turn
    // A ring of the code addresses of the thread's last steps, and the number of all its steps.
    std::array<const void*, 4> sites{};
    size_t sites_noted = 0;
    StoreBuffer stores;
  };

  void enter(Fiber* fiber) override;
  Fiber* after_end() override;
  Thread& self() { return *threads_[current_->id]; }
  void judge_crash(bool in_a_file_call, bool before_step);
  bool is_recorded_crash(bool in_a_file_call, bool before_step);
  bool is_on_stack(const void* at) const;
  void step(const void* site, const void* at);
  void store(const void* site, void* at, size_t bytes);
  // Makes a step. Ends the schedule if the memory was freed.
  void touch(const void* site, const void* at);
  bool is_on_a_stack(const void* at) const;
  void be_late();
  void event();
  // Counts a store of the thread that other threads see from now on.
  void landed(Thread& thread) { ++stores_, ++thread.landed; }
  void block(State state, Picoseconds timeout, bool patient = false);
  // Chooses the fiber that goes on, which may be the running fiber.
  void give_turn(bool waits);
  void begin_turn(Thread& thread);
  void end_turn(Thread& thread, bool waits);
  uint64_t own_steps() { return self().steps + result_.steps - turn_began_; }
  Fiber* next();
  bool collect_enabled();
  bool fire_timer(bool patient = false);
  bool worker_waits() const;
  bool others_go_on() const {
    return std::ranges::any_of(threads_, [this](const auto& thread) {
      return thread->fiber != current_ &&
             (thread->state == State::kReady || thread->state == State::kSpinning);
    });
  }
  bool spins() const;
  bool spin_on();
  bool drain_stores();
  void note_turn(const Thread& next);
  void fail(const std::string& what);
  std::string threads_in_words() const;
  std::string longest_wait_in_words() const;
  static std::vector<uint32_t> last_sites(const Thread& thread);
  std::string race_in_words(const DataRaces::Race& race) const;
  std::string turns_in_words() const;

  static constexpr uint64_t kNever = ~uint64_t{0};

  const platform::Schedule schedule_;
  platform::SplitMix64 random_, crash_random_;
  std::unique_ptr<Order> order_;
  std::unique_ptr<DataRaces> races_;              // null: data races are not watched
  std::vector<std::unique_ptr<Thread>> threads_;  // by the fibers' numbers
  std::vector<uint32_t> enabled_;
  Picoseconds jumped_ = 0;
  uint64_t turn_began_ = 0, turn_end_ = 0, crash_at_ = kNever, next_event_ = kNever;
  uint64_t stores_ = 0, waits_ = 0, idle_rounds_ = 0;
  // Counts calls of the file system whose work is done, even if their caller still waits for it.
  uint64_t returned_calls_ = 0;
  uint64_t timers_ = 0, timer_steps_ = 0;         // timers ended since step `timer_steps_`
  uint64_t quiet_rounds_ = 0, quiet_stores_ = 0;  // rounds of spins since store `quiet_stores_`
  static Explorer* begun_;
  platform::Turn turn_;  // the turn that ends
  // The turns that repeated the recorded schedule and ended with a switch; the stacks at that time.
  std::vector<platform::Turn> shown_turns_;
  std::vector<std::vector<uint32_t>> turn_stacks_;
  platform::Explored result_;
};

// The explorer, while the program's accesses are steps; else null.
extern Explorer* exploring;

// True while the explorer itself runs. New memory then comes from the host, so that the program's
// addresses do not depend on the explorer's memory.
extern bool explorer_runs;

// While this object lives, the explorer runs, and accesses are no steps.
class Unexplored {
 public:
  Unexplored() : before_(exploring), ran_before_(explorer_runs) {
    exploring = nullptr;
    explorer_runs = true;
  }
  ~Unexplored() {
    exploring = before_;
    explorer_runs = ran_before_;
  }
  Unexplored(const Unexplored&) = delete;
  Unexplored& operator=(const Unexplored&) = delete;

 private:
  Explorer* const before_;
  const bool ran_before_;
};

}  // namespace logjam::sim
