// The log of a stealing group: the private buffers of its workers, and the pieces that the workers
// move into the ring of the group's stream.
//
// Protocol. One thread at a time calls take_all() and append(), which share `turn_` and a slot.
//
// No thread goes to sleep while records wait to be moved. unwritten() counts records as soon as
// they are handed over, and filled() includes a piece as soon as it is closed. Only after that, the
// worker looks for sleepers in its publish, or waits for room and wakes the flusher.
#pragma once

#include <bit>

#include "logging/format/record_writer.h"
#include "logging/schemes/autonomous/stealing_group.h"
#include "logging/schemes/nvm/open_holes.h"
#include "logging/stream/stream.h"

namespace logjam {

// The ring of a stream as a sequence of pieces. Several threads move pieces into it at once. The
// log is filled up to the first piece that is still open.
//
// Protocol. A thread draws the position of its piece under `drawing_`, after it has checked that
// the ring has room. So the bound that OpenHoles announces is the exact position. The thread closes
// the piece when the records are copied. `filled_` only grows: a thread that has looked too early
// keeps the larger value.
class LogPieces {
 public:
  // At most `slots` pieces are open at once. `run` seeds the checksums.
  LogPieces(Stream& stream, uint64_t run, uint32_t slots)
      : stream_(stream), run_(run), holes_(slots) {}

  uint64_t reserved() const { return holes_.reserved(); }
  // Returns the position up to which no piece is open. Any thread may call filled() and reserved().
  uint64_t filled() {
    platform::atomic_max(filled_, holes_.look());
    return filled_.load(platform::memory_order_acquire);
  }

 private:
  friend class Piece;

  Stream& stream_;
  const uint64_t run_;
  alignas(platform::kCacheLine) platform::SpinLock drawing_;
  OpenHoles holes_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> filled_{0};
};

// A piece, as StealingGroup uses it. Only the thread that uses `slot` makes a piece.
class Piece {
 public:
  Piece(LogPieces& log, uint32_t slot) : log_(log), slot_(slot) {}

  bool open(uint64_t bytes) {
    LJ_ASSERT(end_ == limit_);
    const platform::lock_guard<platform::SpinLock> hold(log_.drawing_);
    if (!log_.stream_.ring().fits(log_.holes_.reserved() + bytes)) return false;
    end_ = log_.holes_.reserve(slot_, bytes).number;
    limit_ = end_ + bytes;
    return true;
  }
  // Copies records to the end of the piece, and seals them there.
  void move(const std::byte* records, uint64_t bytes) {
    LJ_ASSERT(end_ + bytes <= limit_);
    std::byte* const to = log_.stream_.at(end_, bytes);
    platform::copy(to, records, bytes);
    place_records(to, bytes, log_.run_, end_, log_.stream_.durable());
    end_ += bytes;
  }
  template <class Write>
  void fill(const Write& write) {
    write(end_);
    end_ = limit_;
  }
  void close() {
    LJ_ASSERT(end_ == limit_);
    log_.holes_.filled(slot_);
  }

 private:
  LogPieces& log_;
  const uint32_t slot_;
  uint64_t end_ = 0, limit_ = 0;  // the end of the moved records, and of the piece
};

class GroupLog {
 public:
  static constexpr uint32_t kMembers = StealingGroup::kMembers;

  // Makes the log of `workers` workers. A worker steals when its buffer has `steal_bytes`. `run`
  // seeds the checksums.
  GroupLog(Stream& stream, uint64_t run, uint32_t workers, uint64_t steal_bytes)
      : stream_(stream),
        steal_bytes_(steal_bytes),
        workers_(workers),
        pieces_(stream, run, workers + 1),
        // The ring has room for the small records of all buffers, even if all buffers are full.
        group_(std::min(kMostSteals * steal_bytes,
                        stream.ring().capacity() / (4 * (uint64_t{workers} + 1)) & ~uint64_t{7})) {
    LJ_ASSERT(workers <= kMembers);
  }

  // Only worker number `worker` of the group calls the next two functions.

  // Opens a record. draw() returns the record's number, at least `bound`. Returns also the ticks of
  // the wait for room. The wait comes before draw(), because once a record has a number, the
  // commits of other workers wait for this record.
  struct Opened {
    std::byte* memory;
    uint64_t sequence, waited_ticks;
  };
  template <class Draw>
  Opened open(uint32_t worker, uint32_t bytes, uint64_t bound, const Draw& draw) {
    const uint64_t waited = make_room(worker, bytes);
    const uint64_t sequence = group_.open(worker, bound, draw);
    return {group_.memory(worker), sequence, waited};
  }
  // Hands the record over. A worker with at least `steal_bytes` of records then steals. A worker
  // with at least kAlone times `steal_bytes` moves only its own records. Returns whether the worker
  // has moved records, and so should start a write.
  bool publish(uint32_t worker, uint32_t bytes) {
    group_.publish(worker, bytes);
    const uint64_t unwritten = group_.unwritten(worker);
    if (unwritten < steal_bytes_) return false;
    const bool steals = unwritten < kAlone * steal_bytes_;
    group_.steal(worker, steals ? kMembers : 1, Piece(pieces_, worker));
    return group_.unwritten(worker) < steal_bytes_;
  }

  uint64_t unwritten() const { return group_.unwritten(); }
  uint64_t filled() { return pieces_.filled(); }

  // Moves all records of the group that are handed over. Returns a number N: all records with
  // numbers below N are in the ring, and later records have at least N. Returns 0 if the ring has
  // no room for all.
  uint64_t take_all() {
    uint64_t below = WorkerLog::kNone;
    const uint32_t first = turn_;
    for (uint32_t i = 0; i < workers_ && below != 0; ++i) {
      turn_ = (first + i) % workers_;
      below = std::min(below, group_.take(turn_, false, Piece(pieces_, workers_)));
    }
    return below;
  }
  // Calls write(begin) for a hole of `bytes` after all moved records, if the ring has room.
  template <class Write>
  void append(uint64_t bytes, const Write& write) {
    Piece piece(pieces_, workers_);
    if (!piece.open(bytes)) return;
    piece.fill(write);
    piece.close();
  }

  Counters counters() const {
    return Counters{}.add({{"stolen_pieces", static_cast<double>(group_.stolen_pieces())},
                           {"stolen_bytes", static_cast<double>(group_.stolen_bytes())}});
  }

 private:
  // Multiples of `steal_bytes`: a worker with kAlone times `steal_bytes` does not steal (as in the
  // paper), and a buffer has room for kMostSteals times `steal_bytes`.
  static constexpr uint64_t kAlone = std::bit_width(kMembers), kMostSteals = 4 * kAlone;

  uint64_t make_room(uint32_t worker, uint32_t bytes) {
    uint64_t waited = 0;
    while (!group_.fits(worker, bytes)) {
      group_.take(worker, true, Piece(pieces_, worker));
      const uint64_t left = group_.unwritten(worker);
      if (left != 0) waited += stream_.wait_for_space(pieces_.reserved() + left);
    }
    return waited;
  }

  Stream& stream_;
  const uint64_t steal_bytes_;
  const uint32_t workers_;
  LogPieces pieces_;  // a slot for each worker, and one for take_all() and append()
  StealingGroup group_;
  uint32_t turn_ = 0;  // the worker whose records the next take_all() moves first
};

}  // namespace logjam
