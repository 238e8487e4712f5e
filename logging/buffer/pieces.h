// A ring dealt out in pieces: private buffers that cost nothing to hand over. A worker takes a
// piece of the ring for its own, fills it with record after record and touches nothing shared;
// handing the piece over is one store and copies nothing. The log may be flushed up to the first
// piece that is not handed over yet; a piece that its owner left open, and that keeps others
// waiting, can be taken from it.
//
// Protocol.
//   Owner::state   kNone -> kBusy and kOpen -> kBusy by the worker (compare-and-swap, acquire),
//                  kBusy -> kOpen or kNone by the worker (release). kOpen -> kTaken by whoever
//                  flushes (acquire), under the latch; then it hands over, and stores kNone
//                  (release). `piece` and `used` belong to who is in kBusy or kTaken.
//   latch          guards `end` and the list of pieces; nobody waits under it.
//   Piece::done    stored (release) when it is filled to its end.
//   filled_        stored (release) under the latch, after the caller noted what it covers.
//   done_, passed_ count pieces: a difference that is late is looked at again.
#pragma once

#include <cstdint>
#include <deque>

#include "platform/atomic.h"
#include "platform/spin.h"

namespace logjam {

struct Piece {
  Piece(uint64_t begin, uint64_t end, uint32_t owner, uint64_t mark)
      : begin(begin), end(end), owner(owner), mark(mark) {}

  const uint64_t begin, end;
  const uint32_t owner;
  const uint64_t mark;  // not 0: nobody's, a mark of that
  platform::atomic<bool> done{false};
};

// A worker's side.
class PieceOwner {
 public:
  Piece* piece = nullptr;
  uint64_t used = 0;  // up to where it is filled

  // Waits for who has taken the piece to hand it over.
  void begin() {
    platform::SpinWait wait;
    uint32_t state = state_.load(platform::memory_order_acquire);
    while (state == kTaken ||
           !state_.compare_exchange_weak(state, kBusy, platform::memory_order_acquire)) {
      wait.once();
      state = state_.load(platform::memory_order_acquire);
    }
  }
  void end() { state_.store(piece == nullptr ? kNone : kOpen, platform::memory_order_release); }

  // Others: false if it is in use, or has no piece.
  bool take() {
    uint32_t open = kOpen;
    return state_.compare_exchange_strong(open, kTaken, platform::memory_order_acquire);
  }
  void give_back() { state_.store(kNone, platform::memory_order_release); }

 private:
  enum State : uint32_t { kNone, kOpen, kBusy, kTaken };
  platform::atomic<uint32_t> state_{kNone};
};

class alignas(platform::kCacheLine) Pieces {
 public:
  platform::SpinLock latch;
  uint64_t end = 0;  // of the pieces dealt out

  // Under the latch, with room in the ring.
  Piece& deal(uint64_t bytes, uint32_t owner, uint64_t mark = 0) {
    Piece& piece = pieces_.emplace_back(end, end + bytes, owner, mark);
    end += bytes;
    return piece;
  }

  // By its owner, or by whoever has taken it.
  void hand_over(Piece& piece) {
    piece.done.store(true, platform::memory_order_release);
    done_.fetch_add(1, platform::memory_order_release);
  }

  // Under the latch: passes the pieces handed over, in order, and those that `take` can get from
  // their owners. `note` is told of each before filled() includes it.
  template <class Take, class Note>
  void pass(const Take& take, const Note& note) {
    while (!pieces_.empty()) {
      const Piece& piece = pieces_.front();
      if (!piece.done.load(platform::memory_order_acquire) && !take(piece)) return;
      note(piece);
      filled_.store(piece.end, platform::memory_order_release);
      passed_.store(passed_.load(platform::memory_order_relaxed) + 1,
                    platform::memory_order_relaxed);
      pieces_.pop_front();
    }
  }

  uint64_t filled() const { return filled_.load(platform::memory_order_acquire); }
  // Handed over, and not passed.
  uint64_t waiting() const {
    return done_.load(platform::memory_order_acquire) -
           passed_.load(platform::memory_order_relaxed);
  }

 private:
  std::deque<Piece> pieces_;  // by position, until passed
  platform::atomic<uint64_t> filled_{0};
  alignas(platform::kCacheLine) platform::atomic<uint64_t> done_{0};
  platform::atomic<uint64_t> passed_{0};
};

}  // namespace logjam
