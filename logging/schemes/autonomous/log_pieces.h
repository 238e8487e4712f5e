// The ring of a stream as a sequence of pieces. Several threads move pieces into it at once. The
// log is filled up to the first piece that is still open.
//
// Protocol. A thread draws the place of its piece under `drawing_`, where it also looks whether the
// ring has room. So the bound that OpenHoles announces is the place itself, and is never stale.
// The thread closes the piece when its bytes are there. `filled_` only grows: a thread whose look
// comes late finds the larger value of another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "logging/format/record_writer.h"
#include "logging/schemes/nvm/open_holes.h"
#include "logging/stream/stream.h"
#include "platform/assert.h"
#include "platform/copy.h"
#include "platform/spin.h"

namespace logjam {

class LogPieces {
 public:
  static constexpr uint64_t kNoRoom = ~uint64_t{0};

  // Makes the pieces of `stream`. At most `slots` are open at once. `run` seeds the checksums.
  LogPieces(Stream& stream, uint64_t run, uint32_t slots)
      : stream_(stream), run_(run), holes_(slots) {}

  // Opens a piece of `bytes`. Returns its position, or kNoRoom if the ring has no room for it.
  // Called by the thread that uses `slot`.
  uint64_t open(uint32_t slot, uint64_t bytes) {
    drawing_.lock();
    const bool fits = stream_.ring().fits(holes_.reserved() + bytes);
    const uint64_t begin = fits ? holes_.reserve(slot, bytes).number : kNoRoom;
    drawing_.unlock();
    return begin;
  }
  // Copies records to `position` in an open piece, and seals them there.
  void move(uint64_t position, const std::byte* records, uint64_t bytes) {
    std::byte* const to = stream_.at(position, bytes);
    platform::copy(to, records, bytes);
    place_records(to, bytes, run_, position, stream_.durable());
  }
  // Closes the piece of `slot`.
  void close(uint32_t slot) { holes_.filled(slot); }

  // Returns the position at which the next piece begins. Any thread may call it.
  uint64_t reserved() const { return holes_.reserved(); }
  // Returns the position up to which no piece is open. Any thread may call it.
  uint64_t filled() {
    platform::atomic_max(filled_, holes_.look());
    return filled_.load(platform::memory_order_acquire);
  }

 private:
  Stream& stream_;
  const uint64_t run_;
  alignas(platform::kCacheLine) platform::SpinLock drawing_;
  OpenHoles holes_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> filled_{0};
};

// A piece as StealingGroup::take() uses it.
class Piece {
 public:
  Piece(LogPieces& pieces, uint32_t slot) : pieces_(pieces), slot_(slot) {}
  bool open(uint64_t bytes) {
    LJ_ASSERT(end_ == limit_);
    const uint64_t begin = pieces_.open(slot_, bytes);
    if (begin == LogPieces::kNoRoom) return false;
    end_ = begin;
    limit_ = begin + bytes;
    return true;
  }
  void move(const std::byte* records, uint64_t bytes) {
    LJ_ASSERT(end_ + bytes <= limit_);
    pieces_.move(end_, records, bytes);
    end_ += bytes;
  }
  void close() {
    LJ_ASSERT(end_ == limit_);
    pieces_.close(slot_);
  }

 private:
  LogPieces& pieces_;
  const uint32_t slot_;
  uint64_t end_ = 0, limit_ = 0;  // of what is moved, and of the piece
};

}  // namespace logjam
