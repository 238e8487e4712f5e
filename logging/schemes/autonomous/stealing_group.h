// A stealing group: the private log buffers of up to eight workers, each of which may move the
// records of all members into the log. A worker fills its own buffer without shared memory. A
// *thief* moves the members' filled records that the log does not have yet, its own records first,
// into the log as one *piece*. Filled parts have complete records only, so a piece has no hole.
//
// One thread at a time moves a member's records, under the member's `moving`. A thief skips members
// whose records another thread is moving, so several threads can move records of a group at once.
//
// Protocol.
//   log     of a member: the number of its open record, and the end of its last record, counted in
//           bytes since the beginning (nvm/worker_log.h). Only the member's worker stores it.
//   moving  A thief holds its own `moving`, and only tries the `moving` of other members. Any other
//           thread holds one `moving` at a time. So no threads wait in a circle.
//   moved   stored (release) under `moving`, when the bytes before this position are copied. The
//           worker loads it (acquire), and may then reuse the memory of these bytes.
//   base, memory
//           The worker changes them only if all its records are moved. Another thread uses them
//           only if it has seen (acquire) the end of a record that is not moved, which was stored
//           (release) after the change.
// A member's records keep their order in the log, because pieces are opened under `moving`.
// unwritten() loads `moved` before it loads the end, so its result is never negative.
#pragma once

#include <array>
#include <vector>

#include "logging/schemes/nvm/worker_log.h"
#include "platform/counter.h"
#include "platform/spin.h"

namespace logjam {

class StealingGroup {
 public:
  static constexpr uint32_t kMembers = 8;

  // Makes the group. A buffer has `buffer_bytes`, or room for one larger record.
  explicit StealingGroup(uint64_t buffer_bytes) : buffer_bytes_(buffer_bytes) {}

  // Only the thread of the member's worker calls the next four functions.

  bool fits(uint32_t member, uint32_t bytes) {
    Member& me = *members_[member];
    const uint64_t end = me.log.filled();
    if (me.moved.load(platform::memory_order_acquire) != end) {
      return end + bytes - me.base <= buffer_bytes_;
    }
    const uint64_t words = std::max<uint64_t>(bytes, buffer_bytes_) / sizeof(uint64_t);
    me.base = end;
    if (me.memory.size() < words) me.memory.resize(words);
    return true;
  }
  // Opens a record. Call it after fits(). Returns the record's number, which draw() returns, and
  // which is at least `bound`.
  template <class Draw>
  uint64_t open(uint32_t member, uint64_t bound, const Draw& draw) {
    return members_[member]->log.open(bound, draw).number;
  }
  std::byte* memory(uint32_t member) {
    return at(*members_[member], members_[member]->log.filled());
  }
  void publish(uint32_t member, uint32_t bytes) {
    WorkerLog& log = members_[member]->log;
    log.note_fill(log.filled() + bytes);
  }

  // Returns how many bytes are handed over but not moved. Any thread may call it.
  uint64_t unwritten(uint32_t member) const { return handed_over(*members_[member]); }
  uint64_t unwritten() const {
    uint64_t total = 0;
    for (uint32_t member = 0; member < kMembers; ++member) total += unwritten(member);
    return total;
  }

  // If there are records to move, steal() and take() call piece.open(bytes), which returns false if
  // the log has no room; piece.move(from, bytes) for each member, in order; and piece.close().

  // Moves the thief's records, and then the records of the next `count` - 1 members. If the log has
  // no room for all records, moves the records of fewer members, or of none. Does nothing if
  // another thread is moving the thief's records. Only the thief's worker calls it.
  template <class Piece>
  void steal(uint32_t thief, uint32_t count, Piece&& piece) LJ_NOT_ANALYSED {  // several latches
    if (!nth(thief).moving.try_lock()) return;
    LJ_ASSERT(count <= kMembers);
    std::array<uint32_t, kMembers> taken;
    std::array<uint64_t, kMembers> ends;
    uint32_t members = 0;
    uint64_t bytes = 0;
    for (uint32_t number = thief; number < thief + count; ++number) {
      Member& member = nth(number);
      if (number != thief && !(handed_over(member) != 0 && member.moving.try_lock())) continue;
      ends[members] = member.log.filled();
      bytes += ends[members] - moved(member);
      taken[members++] = number;
    }
    const uint32_t locked = members;
    while (bytes != 0 && !piece.open(bytes)) {
      --members;
      bytes -= ends[members] - moved(nth(taken[members]));
    }
    for (uint32_t i = 0; i < members && bytes != 0; ++i) {
      move(nth(taken[i]), ends[i], taken[i] == thief, piece);
    }
    if (bytes != 0) piece.close();
    for (uint32_t i = 0; i < locked; ++i) nth(taken[i]).moving.unlock();
  }
  // Moves the member's records. Returns a number N: all records of the member with numbers below N
  // are in the log, and its later records have at least N. Returns 0 if the log has no room. The
  // caller is the member's worker (`own`), or a thread that is not a thief.
  template <class Piece>
  uint64_t take(uint32_t number, bool own, Piece&& piece) {
    Member& member = nth(number);
    member.moving.lock();
    const auto [place, end] = member.log.look();
    const bool some = end != moved(member), fits = !some || piece.open(end - moved(member));
    if (some && fits) {
      move(member, end, own, piece);
      piece.close();
    }
    member.moving.unlock();
    return fits ? place : 0;
  }

  // Returns how many pieces (or bytes) of records were moved by a thread other than their worker.
  // Any thread may call both functions.
  uint64_t stolen_pieces() const { return sum(&Member::stolen_pieces); }
  uint64_t stolen_bytes() const { return sum(&Member::stolen_bytes); }

 private:
  struct Member {
    WorkerLog log;
    uint64_t base = 0;             // the position whose byte is the first of `memory`
    std::vector<uint64_t> memory;  // aligned for records
    alignas(platform::kCacheLine) platform::atomic<uint64_t> moved{0};
    platform::SpinLock moving;
    platform::Counter stolen_pieces, stolen_bytes;
  };

  Member& nth(uint32_t number) { return *members_[number % kMembers]; }
  static uint64_t moved(const Member& member) {
    return member.moved.load(platform::memory_order_relaxed);
  }
  static uint64_t handed_over(const Member& member) {
    const uint64_t moved = member.moved.load(platform::memory_order_acquire);
    return member.log.filled() - moved;
  }
  static std::byte* at(Member& member, uint64_t position) {
    return reinterpret_cast<std::byte*>(member.memory.data()) + (position - member.base);
  }

  template <class Piece>
  static void move(Member& member, uint64_t end, bool own, Piece& piece)
      LJ_REQUIRES(member.moving) {
    const uint64_t begin = moved(member);
    if (begin == end) return;  // the worker may change `base` now
    LJ_ASSERT(begin < end && begin >= member.base);
    piece.move(at(member, begin), end - begin);
    member.moved.store(end, platform::memory_order_release);
    if (own) return;
    member.stolen_pieces.add();
    member.stolen_bytes.add(end - begin);
  }
  uint64_t sum(platform::Counter Member::*counter) const {
    uint64_t total = 0;
    for (const auto& member : members_) total += ((*member).*counter).value();
    return total;
  }

  const uint64_t buffer_bytes_;
  std::array<platform::Padded<Member>, kMembers> members_;
};

}  // namespace logjam
