// RocksDB's write groups (its WriteThread): writers form a list. The first writer of a group, the
// *leader*, copies the records of all members into the log, one after the other. So only one thread
// at a time writes to the log's memory, and a record is copied twice.
//
// A writer *links* itself by a compare-and-swap of the newest writer, and thereby gets its position
// in the log: the end of the writer before it. A writer without a writer before it leads. A writer
// fills its record in private memory, and *hands the record over*: a leader copies its group, and
// another writer waits until its record is copied or it becomes the leader. A group has at most 1
// MiB. If the leader's record is small, the limit is the record's size plus 128 KiB, so that this
// leader waits only for a few writers. When all records of the group are copied, the writer after
// the group leads the next group, and then the members return (ExitAsBatchGroupLeader).
//
// Protocol.
//   newest_  the end of the log and the newest writer, in one word; the writer part is 0 if no
//            group is under way. Changed by compare-and-swap (acq_rel): to link, and by a leader
//            with no writer after its group. The end grows with each link, so no value recurs.
//   older    of a writer: the writer that it found in newest_. Stored before the link; loaded by a
//            leader that has acquired newest_ since.
//   filled   stored (release) when the record is filled; the leader loads it (acquire).
//   state    kWaits after a link to another writer. The leader stores (release) kDone when the
//            record is copied, or kLeads. The writer's worker loads it (acquire).
// A leader looks for the writer after its group before it stores kDone for the members. Before
// kDone, the last member cannot link itself again. So the writer whose `older` is this member is
// the next writer. The next leader uses group_ from then on, so the members are found by `older`.
#pragma once

#include "logging/schemes/common/worker_states.h"
#include "platform/spin.h"

namespace logjam {

class WriteGroups {
 public:
  explicit WriteGroups(uint32_t workers) : writers_(workers) { LJ_ASSERT(workers < kWriterMask); }

  // Links worker `worker`, whose record has `bytes`. Returns the record's position. hand_over()
  // follows. Only this worker calls the next three functions.
  uint64_t link(uint32_t worker, uint32_t bytes) {
    Writer& me = writers_[worker];
    LJ_ASSERT_IN_TESTS(me.state.load(platform::memory_order_relaxed) != kWaits && bytes % 8 == 0);
    me.bytes = bytes;
    me.filled.store(false, platform::memory_order_relaxed);
    uint64_t word = newest_.load(platform::memory_order_acquire);
    do {
      me.begin = word >> kWriterBits;
      me.older = word & kWriterMask;
      me.state.store(me.older == kNoWriter ? kLeads : kWaits, platform::memory_order_relaxed);
    } while (!newest_.compare_exchange_weak(word, (me.begin + bytes) << kWriterBits | (worker + 1),
                                            platform::memory_order_acq_rel,
                                            platform::memory_order_acquire));
    return me.begin;
  }
  std::byte* memory(uint32_t worker) {
    Writer& me = writers_[worker];
    if (me.memory.size() < me.bytes / sizeof(uint64_t))
      me.memory.resize(me.bytes / sizeof(uint64_t));
    return reinterpret_cast<std::byte*>(me.memory.data());
  }
  // Waits until the record is copied. If the worker leads, calls `copy(begin, record, bytes)` for
  // each record of the group, in log order, and `before_wait()` before it waits for a member's
  // fill: this member may wait for room, which a flush makes.
  template <class Copy, class BeforeWait>
  void hand_over(uint32_t worker, const Copy& copy, const BeforeWait& before_wait) {
    Writer& me = writers_[worker];
    me.filled.store(true, platform::memory_order_release);
    for (platform::BackOff wait;; wait.once()) {
      const State state = me.state.load(platform::memory_order_acquire);
      if (state == kDone) return;
      if (state == kLeads) return lead(me, worker + 1, copy, before_wait);
    }
  }

 private:
  static constexpr unsigned kWriterBits = 14;
  static constexpr uint64_t kWriterMask = (uint64_t{1} << kWriterBits) - 1, kNoWriter = 0;
  static constexpr uint64_t kGroupBytes = 1 << 20, kSmallBytes = 128 << 10;

  enum State : uint8_t { kWaits, kLeads, kDone };
  struct Writer {
    uint32_t bytes = 0;
    uint64_t begin = 0, older = kNoWriter;
    std::vector<uint64_t> memory;
    platform::atomic<bool> filled{false};
    platform::atomic<State> state{kDone};
  };

  Writer& writer(uint64_t number) { return writers_[static_cast<uint32_t>(number - 1)]; }

  template <class Copy, class BeforeWait>
  void lead(Writer& me, uint64_t number, const Copy& copy, const BeforeWait& before_wait) {
    group_.clear();
    uint64_t newest = newest_.load(platform::memory_order_acquire) & kWriterMask;
    for (; newest != number; newest = writer(newest).older) group_.push_back(newest);
    const uint64_t most = me.bytes <= kSmallBytes ? me.bytes + kSmallBytes : kGroupBytes;
    uint64_t bytes = 0, last = number;
    for (;;) {
      Writer& member = writer(last);
      for (platform::SpinWait wait; !member.filled.load(platform::memory_order_acquire);) {
        if (wait.rounds() == 0) before_wait();
        wait.once();
      }
      copy(member.begin, reinterpret_cast<const std::byte*>(member.memory.data()), member.bytes);
      bytes += member.bytes;
      if (group_.empty() || bytes + writer(group_.back()).bytes > most) break;
      last = group_.back();
      group_.pop_back();
    }
    pass_the_lead(last);
    while (last != number) {
      Writer& member = writer(last);
      last = member.older;  // a member that is done may link itself again
      member.state.store(kDone, platform::memory_order_release);
    }
  }

  // Makes the writer after `last` a leader, if there is one.
  void pass_the_lead(uint64_t last) {
    uint64_t word = newest_.load(platform::memory_order_acquire);
    while ((word & kWriterMask) == last) {
      if (newest_.compare_exchange_weak(word, word & ~kWriterMask, platform::memory_order_acq_rel,
                                        platform::memory_order_acquire)) {
        return;
      }
    }
    uint64_t next = word & kWriterMask;
    while (writer(next).older != last) next = writer(next).older;
    writer(next).state.store(kLeads, platform::memory_order_release);
  }

  WorkerStates<Writer> writers_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> newest_{0};
  std::vector<uint64_t> group_;  // used by the leader: the remaining members, the newest first
};

}  // namespace logjam
