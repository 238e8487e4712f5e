// The order in which the threads of a replay commit, which is the order of the log.
//
// A thread may execute its command at any time, and commits it when it is the command's turn. The
// turn passes on when the command is certain to commit: the rows that it writes are locked, and the
// rows that it has read are validated. Its rows are then installed while the next command begins
// its commit. The result is that of a serial execution in the order of the log: a command validates
// after all earlier commands have locked the rows that they write, so it has read the rows as these
// commands leave them; and it locks and installs nothing before its turn, so no earlier command has
// read its rows. Its validation may fail even at its turn, because threads of later commands insert
// absent tuples into index nodes, and others remove absent tuples. So a thread may claim the
// database for itself.
//
// Protocol. Only the thread that has the turn stores `turn_` (release). The thread that waits for
// the turn loads it (acquire), and so sees the locks of all earlier commands. The thread that has
// the turn may set `alone_`, and clears `alone_` at its end_alone(); meanwhile the turn may have
// passed to a thread that waits in begin(). A thread that begins sets its `active_` and then loads
// `alone_`; the thread that has the turn sets `alone_` and then loads the others' `active_`. These
// accesses are seq_cst, so at least one of the two threads sees the other's store, and waits. A
// thread that is active waits for no turn before it ends, so there is no deadlock.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/spin.h"

namespace logjam {

// Waits for another thread of the replay, which takes microseconds if that thread has a core. A
// thread that gives up its own core may get it back only after milliseconds, if other programs want
// the core. So a thread gives up its core only after many pauses.
class ReplayWait {
 public:
  // Waits a moment. Call it in a loop that looks whether the other thread has come far enough.
  void once() {
    constexpr uint32_t kPauses = 1000;
    if (pauses_ < kPauses) {
      ++pauses_;
      platform::pause();
    } else {
      wait_.once();
    }
  }

 private:
  uint32_t pauses_ = 0;
  platform::SpinWait wait_;
};

class CommitOrder {
 public:
  explicit CommitOrder(uint32_t threads) : active_(threads) {}

  // Returns how many commands have committed, or are certain to commit.
  uint64_t committed() const { return turn_.load(platform::memory_order_acquire); }
  // Returns whether replay has ended with an error.
  bool stopped() const { return stopped_.load(platform::memory_order_acquire); }

  // Waits, on thread `thread`, for the turn of command `index`. Returns false if replay has
  // stopped.
  bool wait_for_turn(uint32_t thread, uint64_t index) const {
    LJ_ASSERT(!active_[thread]->load(platform::memory_order_relaxed));
    for (ReplayWait wait; committed() != index; wait.once()) {
      if (stopped()) return false;
    }
    return true;
  }
  // Passes the turn to the next command: command `index` is certain to commit.
  void pass(uint64_t index) {
    LJ_ASSERT(index == committed());
    turn_.store(index + 1, platform::memory_order_release);
  }
  // Ends replay before command `index` because of `error`.
  void stop(uint64_t index, std::string error) {
    LJ_ASSERT(index == committed() && !stopped());
    error_ = std::move(error);
    stopped_.store(true, platform::memory_order_release);
  }
  // Returns the error or an empty string. Join the threads of the replay first.
  const std::string& error() const { return error_; }

  // Waits while another thread has the database to itself, and lets thread `thread` use the
  // database until end().
  void begin(uint32_t thread) {
    auto& active = *active_[thread];
    LJ_ASSERT(!active.load(platform::memory_order_relaxed));
    active.store(true, platform::memory_order_seq_cst);
    while (alone_.load(platform::memory_order_seq_cst)) {
      active.store(false, platform::memory_order_release);
      for (ReplayWait wait; alone_.load(platform::memory_order_acquire);) wait.once();
      active.store(true, platform::memory_order_seq_cst);
    }
  }
  void end(uint32_t thread) {
    LJ_ASSERT(active_[thread]->load(platform::memory_order_relaxed));
    active_[thread]->store(false, platform::memory_order_release);
  }

  // Calls begin(), and then waits until no other thread uses the database, until end_alone(). The
  // command of `thread` has the turn.
  void begin_alone(uint32_t thread) {
    begin(thread);
    LJ_ASSERT(!alone_.load(platform::memory_order_relaxed));
    alone_.store(true, platform::memory_order_seq_cst);
    for (uint32_t other = 0; other < active_.size(); ++other) {
      if (other == thread) continue;
      for (ReplayWait wait; active_[other]->load(platform::memory_order_seq_cst);) wait.once();
    }
  }
  void end_alone(uint32_t thread) {
    LJ_ASSERT(alone_.load(platform::memory_order_relaxed));
    alone_.store(false, platform::memory_order_release);
    end(thread);
  }

 private:
  alignas(platform::kCacheLine) platform::atomic<uint64_t> turn_{0};
  alignas(platform::kCacheLine) platform::atomic<bool> alone_{false};
  platform::atomic<bool> stopped_{false};
  std::string error_;  // stored before `stopped_`
  std::vector<platform::Padded<platform::atomic<bool>>> active_;
};

}  // namespace logjam
