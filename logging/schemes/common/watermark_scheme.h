// The watermarks of schemes with several streams: the number that a commit waits for, and the
// number of the last watermark record of each stream.
#pragma once

#include "logging/schemes/common/multi_stream_scheme.h"

namespace logjam {

// The largest sequence number that a commit waits for. A stream with a smaller watermark must catch
// up, even if it has nothing to write (R5).
//
// Protocol. A thread raises the number *before* another thread can wait for it: before it publishes
// a record, or before it parks to wait for a number that it has read. So a flusher that finds a
// record filled also finds the number that the record's publisher wants. Each slot is raised by
// atomic_max, seq_cst. Each worker or stream has its own slot, so that workers do not write the
// same cache line. Any thread may call wanted().
class WantedWatermark {
 public:
  explicit WantedWatermark(uint32_t slots) : slots_(slots) {}

  // Returns whether the slot had a smaller number.
  bool raise(uint32_t slot, uint64_t sequence) {
    return platform::atomic_max(*slots_[slot], sequence, platform::memory_order_seq_cst);
  }
  uint64_t wanted() const {
    uint64_t most = 0;
    for (const auto& slot : slots_) most = std::max(most, slot->load());
    return most;
  }

 private:
  std::vector<platform::Padded<platform::atomic<uint64_t>>> slots_;
};

// The common part of schemes in which the threads that flush a stream append watermark records to
// the stream. The stream's *watermark* is the number of its last watermark record.
//
// Protocol. One thread at a time stores the watermark of a stream (release), under a lock of the
// scheme. Any thread loads it (acquire), and wakes a flusher whose watermark is too small.
class WatermarkScheme : public MultiStreamScheme {
 public:
  bool idle() const override { return !any_lags() && MultiStreamScheme::idle(); }

 protected:
  // `slots` is the number of slots of `wanted_`; 0 means one slot for each stream.
  explicit WatermarkScheme(const LogConfig& config, uint32_t slots = 0)
      : MultiStreamScheme(config),
        wanted_(slots == 0 ? streams() : slots),
        watermarks_(streams()) {}

  bool raise_wanted(uint32_t slot, uint64_t number) { return wanted_.raise(slot, number); }
  uint64_t wanted() const { return wanted_.wanted(); }
  uint64_t watermark(uint32_t index) const {
    return watermarks_[index]->load(platform::memory_order_acquire);
  }
  bool lags(uint32_t index) const { return watermark(index) < wanted(); }
  bool any_lags() const {
    for (uint32_t s = 0; s < streams(); ++s) {
      if (lags(s)) return true;
    }
    return false;
  }
  // Notes that a watermark record of `number` has its position in the stream.
  void raise_watermark(uint32_t index, uint64_t number) {
    LJ_ASSERT(number > watermark(index));
    watermarks_[index]->store(number, platform::memory_order_release);
    count_watermark();
  }
  void notify_lagging(uint64_t number, Flush flush = Flush::kByPolicy) {
    notify_lagging_flushers(
        number, [this](uint32_t s) { return watermark(s); }, flush);
  }

 private:
  WantedWatermark wanted_;
  std::vector<platform::Padded<platform::atomic<uint64_t>>> watermarks_;
};

}  // namespace logjam
