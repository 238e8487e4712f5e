#include "engine/recovery/commands/command_feed.h"

#include <utility>

#include "platform/assert.h"
#include "platform/clock.h"

namespace logjam {

CommandFeed::CommandFeed(LogReader& reader, uint32_t threads)
    : reader_(reader), threads_(threads), slots_(kSlots) {
  LJ_ASSERT(threads > 0 && threads <= uint32_t{1} << kThreadBits);
  for (uint64_t i = 0; i < kSlots; ++i) {
    slots_[i].word.store(word(i, kWaits), platform::memory_order_relaxed);
  }
}

void CommandFeed::read() {
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

// Waits until the next slot is free, and puts the record into it. Returns false after stop().
bool CommandFeed::add(const RecordHeader& record) {
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

CommandFeed::Next CommandFeed::take(uint32_t thread, uint64_t committed, Command* command) {
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

bool CommandFeed::claim(uint64_t index, uint64_t seen, Command* command) {
  Slot& slot = slots_[index % kSlots];
  if (!slot.word.compare_exchange_strong(seen, word(index, kEmptied),
                                         platform::memory_order_acquire)) {
    return false;
  }
  *command = slot.command;
  return true;
}

void CommandFeed::release(const Command& command) {
  LJ_ASSERT(slots_[command.index % kSlots].word.load(platform::memory_order_relaxed) ==
            word(command.index, kEmptied));
  slots_[command.index % kSlots].word.store(word(command.index + kSlots, kWaits),
                                            platform::memory_order_release);
}

}  // namespace logjam
