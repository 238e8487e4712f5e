// Hands the commands of a log to the threads that replay them.
//
// A reader thread reads ahead, and each of the other threads takes a command when it has none. Each
// worker of the run is assigned to one thread, which takes the commands of its workers first, and
// the oldest command of all if it finds none. So the threads repeat the schedule of the run: they
// execute two commands at the same time if the run did. If a workload gives each worker its own
// part of the data, commands of different threads seldom conflict.
//
// Protocol. Command i is in slot i modulo the number of slots. A slot's word says for which command
// the slot is, and whether the slot waits for that command, has the command, or is emptied. The
// reader thread fills a slot that waits, and stores the word (release). A thread that loads that
// word (acquire) takes the command by a compare-and-swap, and uses the slot alone until it releases
// the slot for a later command (release). The reader thread keeps the memory of a batch until it
// has filled each slot of the batch again, or to the end.
//
// Some thread takes the command C that has the turn to commit. Suppose that no thread has taken C.
// A thread that has taken a command has skipped no older command of its own. So the thread to which
// C is assigned has taken no later command, and all earlier commands have committed. So that thread
// has no command, and takes C next.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "logging/format/log_reader.h"
#include "platform/atomic.h"

namespace logjam {

// A record of the log, of any kind but void.
struct Command {
  uint64_t index = 0;     // the number of the command in the log, from 0
  uint64_t previous = 0;  // the sequence number of the command before it, or 0
  const RecordHeader* record = nullptr;
};

class CommandFeed {
 public:
  enum class Next : uint8_t {
    kTaken,
    kLater,  // no command may be taken now
    kDone,   // all have been taken
  };

  // `threads` threads take commands. `reader` has opened the log, and outlives this object.
  CommandFeed(LogReader& reader, uint32_t threads);

  // Reads the log to its end, or until stop(). Call it on a thread of its own: it waits for the
  // threads that take commands.
  void read();
  // Ends read(): no thread wants more commands.
  void stop() { stopped_.store(true, platform::memory_order_release); }

  // Takes a command for thread `thread` (from 0), which has released its previous command.
  // `committed` is the number of commands that have committed. Never waits.
  Next take(uint32_t thread, uint64_t committed, Command* command);
  // Gives the command back: the thread that took it no longer needs its record.
  void release(const Command& command);

  // Returns how many records read() has read; bytes() is their size. Join the thread of read()
  // first.
  uint64_t records() const { return records_; }
  uint64_t bytes() const { return bytes_; }

 private:
  // Enough slots that the reader thread seldom needs a core.
  static constexpr uint64_t kSlots = 1 << 16;
  // A thread searches this many commands, from the turn on, for its own.
  static constexpr uint64_t kWindow = 64;

  enum State : uint64_t { kWaits, kFilled, kEmptied };
  static constexpr unsigned kStateBits = 2, kThreadBits = 16;
  static constexpr unsigned kIndexShift = kStateBits + kThreadBits;
  // Returns a slot's word. The command is assigned to thread `thread`.
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

  bool add(const RecordHeader& record);
  bool claim(uint64_t index, uint64_t seen, Command* command);

  LogReader& reader_;
  const uint32_t threads_;
  std::vector<Slot> slots_;
  platform::atomic<bool> stopped_{false};
  platform::atomic<uint64_t> end_{~uint64_t{0}};  // the number of commands, once it is known
  // Only the reader thread uses these until read() returns.
  std::deque<Held> held_;
  uint64_t filled_ = 0;
  uint64_t last_sequence_ = 0;
  uint64_t records_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace logjam
