#include "logging/device/writer_threads.h"

#include <algorithm>

#include "platform/assert.h"

namespace logjam {

WriterThreads::WriterThreads(DeviceFile& file, uint32_t depth) : file_(file) {
  for (uint32_t slot = 0; slot < depth; ++slot) slots_.push_back(std::make_unique<Slot>());
}

WriterThreads::~WriterThreads() {
  closing_.store(true, platform::memory_order_release);
  for (const auto& slot : slots_) {
    slot->begin.notify();
    if (slot->thread.joinable()) slot->thread.join();
  }
}

void WriterThreads::start(uint64_t offset, std::span<const std::byte> bytes, Sync sync,
                          uint32_t slot) {
  LJ_ASSERT(slot < slots_.size());
  Slot& at = *slots_[slot];
  LJ_ASSERT(at.state.load(platform::memory_order_relaxed) == kFree && at.pieces.empty());
  while (!bytes.empty()) {
    const DeviceFile::Piece& piece = at.pieces.emplace_back(file_.first_piece(offset, bytes));
    offset += piece.bytes.size();
    bytes = bytes.subspan(piece.bytes.size());
  }
  at.sync = sync;
  at.state.store(kFull, platform::memory_order_release);
  if (at.thread.joinable()) {
    at.begin.notify();
  } else {
    at.thread = platform::thread([this, &at] { write_for(at); });
  }
}

void WriterThreads::write_for(Slot& slot) {
  platform::name_this_thread("log-writer");
  platform::favour_this_thread();
  platform::EventCount::Waiter waiter(slot.begin);
  while (true) {
    // The state and `closing_` are loaded after prepare(): a change of either ends the sleep. The
    // state is loaded last: the destructor may follow a start() at once.
    const uint32_t seen = waiter.prepare();
    const bool closing = closing_.load(platform::memory_order_acquire);
    if (slot.state.load(platform::memory_order_acquire) == kFull) {
      for (const DeviceFile::Piece& piece : slot.pieces) file_.write(piece, slot.sync);
      slot.pieces.clear();
      slot.state.store(kDone, platform::memory_order_release);
      done_.notify();
    } else if (closing) {
      return;
    } else {
      waiter.sleep(seen);
    }
  }
}

bool WriterThreads::finished(uint32_t slot) {
  Slot& at = *slots_[slot];
  if (at.state.load(platform::memory_order_acquire) == kDone) {
    at.state.store(kFree, platform::memory_order_relaxed);
  }
  return at.state.load(platform::memory_order_relaxed) == kFree;
}

uint32_t WriterThreads::count() const {
  return static_cast<uint32_t>(
      std::ranges::count_if(slots_, [](const auto& slot) { return slot->thread.joinable(); }));
}

bool WriterThreads::any_done() const {
  return std::ranges::any_of(slots_, [](const auto& slot) {
    return slot->state.load(platform::memory_order_acquire) == kDone;
  });
}

void WriterThreads::wait(uint64_t timeout_ns) {
  platform::EventCount::Waiter waiter(done_);
  const uint32_t seen = waiter.prepare();
  if (!any_done()) waiter.sleep(seen, timeout_ns);
}

}  // namespace logjam
