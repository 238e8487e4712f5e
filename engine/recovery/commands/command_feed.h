// Hands the commands of a log to the threads that replay them.
//
// A reader thread reads ahead. Each worker of the run is assigned to one replaying thread. A thread
// first takes commands of its workers; if it finds none, it takes the oldest command that no thread
// has taken. So the threads repeat the schedule of the run. If a workload gives each worker its own
// part of the data, commands of different threads seldom conflict.
//
// Protocol. Command i is in slot i modulo the number of slots. A slot's word says for which command
// the slot is, and whether the slot waits for that command, has the command, or is emptied. The
// reader thread fills a slot that waits, and stores the word (release). A thread that loads that
// word (acquire) takes the command by a compare-and-swap, and uses the slot alone until it releases
// the slot for a later command (release). The reader thread keeps the memory of a batch until it
// has filled each slot of the batch again, or until the replay ends.
//
// No thread waits for ever: some thread takes the command C that has the turn to commit. Suppose
// that no thread has taken C. Let T be the thread to which C is assigned. T skips no command of its
// own workers, so T has taken no command after C. All earlier commands have committed, so T has no
// command, and takes C next.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "logging/format/log_reader.h"
#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/clock.h"

namespace logjam {

// A record of the log, of any kind except void.
struct Command {
  uint64_t index = 0;     // the number of the command in the log, from 0
  uint64_t previous = 0;  // the sequence number of the previous command, or 0
  const RecordHeader* record = nullptr;
};

class CommandFeed {
 public:
  enum class Next : uint8_t {
    kTaken,
    kLater,  // no command may be taken now
    kDone,   // all commands have been taken
  };

  // `threads` threads take commands. `reader` has opened the log, and outlives this object.
  CommandFeed(LogReader& reader, uint32_t threads)
      : reader_(reader), threads_(threads), slots_(kSlots) {
    LJ_ASSERT(threads > 0 && threads <= uint32_t{1} << kThreadBits);
    for (uint64_t i = 0; i < kSlots; ++i) {
      slots_[i].word.store(word(i, kWaits), platform::memory_order_relaxed);
    }
  }

  // Reads the log to its end or until stop(). Waits for free slots: call it on a separate thread.
  void read() {
    LJ_ASSERT(filled_ == 0);
    RecordBatch batch;
    bool wanted = true;
    while (wanted && reader_.next(&batch)) {
      for (const RecordHeader* record : batch.records) {
        wanted = record->kind == RecordKind::kVoid || add(*record);
        if (!wanted) break;
        ++records_;
        bytes_ += record->bytes;
      }
      held_.push_back({filled_, std::move(batch.memory)});
      while (held_.front().end + kSlots <= filled_) held_.pop_front();
    }
    end_.store(filled_, platform::memory_order_release);
  }
  void stop() { stopped_.store(true, platform::memory_order_release); }

  // Takes a command for thread `thread` (from 0), which has released its previous command. Looks
  // only at commands from number `committed` on, because all earlier commands have committed.
  Next take(uint32_t thread, uint64_t committed, Command* command) {
    LJ_ASSERT(thread < threads_);
    const uint64_t end = end_.load(platform::memory_order_acquire);
    uint64_t oldest = 0, oldest_word = 0;
    bool any = false;
    uint64_t index = committed;
    for (; index < committed + kWindow; ++index) {
      const uint64_t seen = slots_[index % kSlots].word.load(platform::memory_order_acquire);
      if (seen >> kIndexShift > index || seen == word(index, kEmptied)) continue;  // taken
      if (seen == word(index - kSlots, kEmptied) || seen == word(index, kWaits)) break;
      if (seen == word(index, kFilled, thread)) {
        if (claim(index, seen, command)) return Next::kTaken;
      } else if (!any) {
        any = true;
        oldest = index;
        oldest_word = seen;
      }
    }
    if (any) return claim(oldest, oldest_word, command) ? Next::kTaken : Next::kLater;
    return index >= end ? Next::kDone : Next::kLater;
  }
  // Frees the slot and the record of a taken command.
  void release(const Command& command) {
    LJ_ASSERT(slots_[command.index % kSlots].word.load(platform::memory_order_relaxed) ==
              word(command.index, kEmptied));
    slots_[command.index % kSlots].word.store(word(command.index + kSlots, kWaits),
                                              platform::memory_order_release);
  }

  // Returns how many records read() has read. Join the thread of read() first.
  uint64_t records() const { return records_; }
  uint64_t bytes() const { return bytes_; }

 private:
  // With this number of slots, the reader thread mostly sleeps and seldom needs a core.
  static constexpr uint64_t kSlots = 1 << 16;
  // A thread searches this many uncommitted commands for a command of its workers.
  static constexpr uint64_t kWindow = 64;

  enum State : uint64_t { kWaits, kFilled, kEmptied };
  static constexpr unsigned kStateBits = 2, kThreadBits = 16;
  static constexpr unsigned kIndexShift = kStateBits + kThreadBits;
  static constexpr uint64_t word(uint64_t index, State state, uint64_t thread = 0) {
    return index << kIndexShift | thread << kStateBits | state;
  }

  struct Slot {
    platform::atomic<uint64_t> word;
    Command command;
  };
  struct Held {
    uint64_t end;  // one more than the index of the batch's last command
    std::shared_ptr<std::vector<std::byte>> memory;
  };

  // Waits until the next slot is free, and fills it. Returns false after stop().
  bool add(const RecordHeader& record) {
    constexpr uint64_t kNapNs = 1'000'000;
    Slot& slot = slots_[filled_ % kSlots];
    while (slot.word.load(platform::memory_order_acquire) != word(filled_, kWaits)) {
      if (stopped_.load(platform::memory_order_acquire)) return false;
      platform::sleep_ns(kNapNs);
    }
    slot.command = {filled_, std::exchange(last_sequence_, record.sequence), &record};
    slot.word.store(word(filled_, kFilled, worker_of(record) % threads_),
                    platform::memory_order_release);
    ++filled_;
    return true;
  }
  bool claim(uint64_t index, uint64_t seen, Command* command) {
    Slot& slot = slots_[index % kSlots];
    if (!slot.word.compare_exchange_strong(seen, word(index, kEmptied),
                                           platform::memory_order_acquire)) {
      return false;
    }
    *command = slot.command;
    return true;
  }

  LogReader& reader_;
  const uint32_t threads_;
  std::vector<Slot> slots_;
  platform::atomic<bool> stopped_{false};
  platform::atomic<uint64_t> end_{~uint64_t{0}};  // the number of commands, once it is known
  // Only the reader thread uses the next members until read() returns.
  std::deque<Held> held_;
  uint64_t filled_ = 0;
  uint64_t last_sequence_ = 0;
  uint64_t records_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace logjam
