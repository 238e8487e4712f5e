// The state of a stream that its threads share, and the *step*, the only code that changes the
// state. A step looks whether a write under way has finished, and advances durable(). When a flush
// is due, the step raises the *goal* to the position up to which the ring is filled. Then every
// device that can take a write and has bytes before the goal starts its next write. stream.h and
// flush_daemon.h decide which thread takes a step, and when.
//
// Protocol.
//   latch_           guards the step. All threads except a leader only try to lock it.
//   durable_, goal_  stored under the latch. The store of durable_ is a release, and comes after
//                    the devices have said that the bytes are durable.
//   oldest_          the time of the oldest unflushed publish, or 0. After its fence, a publisher
//                    stores the time if oldest_ is 0. A step that raises the goal stores 0, fences,
//                    and loads filled() again. If filled() is beyond the goal, the step stores the
//                    time: the publishers after the goal may have found an oldest_ that was not 0.
//                    So the flush timeout (--flush=us) needs no later publish. note_wanted() stores
//                    FlushPolicy::kLongAgo. An idle daemon replaces kLongAgo by 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "logging/counters.h"
#include "logging/log_config.h"
#include "logging/stream/flush_gap.h"
#include "logging/stream/flush_policy.h"
#include "logging/stream/ring.h"
#include "logging/stream/stream_home.h"
#include "logging/stream/striped_devices.h"
#include "platform/counter.h"
#include "platform/spin.h"
#include "platform/thread_annotations.h"

namespace logjam {

// The scheme that fills the ring of a stream, as the stream sees the scheme.
class StreamOwner {
 public:
  // Returns the position up to which the ring is filled without a hole, and may advance that
  // position. Loads with acquire: the caller may read the bytes before the position.
  virtual uint64_t filled(uint32_t stream) = 0;
  // Returns the position up to which a write may go, after filled() has returned `filled`. The
  // position never decreases. A scheme overrides this function to prepare a write, for example to
  // close a segment. Such a scheme's filled() may count an open segment. The latch is held.
  virtual uint64_t filled_to_write(uint32_t /*stream*/, uint64_t filled) { return filled; }

 protected:
  ~StreamOwner() = default;
};

enum class Due : uint8_t {
  kNo,
  kGoalOpen,  // an earlier flush was due, and its writes have not finished
  kByTime,    // the flush timeout or the gap is over, or a thread relies on this write
  kByAmount,  // as many transactions or bytes are filled as --flush says
};

class StreamState {
 public:
  struct Step {
    bool advanced = false;  // durable() advanced: wake the waiters after the latch is released
    bool started = false;   // a write started
  };
  StreamState(const LogConfig& config, uint32_t index, StreamOwner& owner, Writers writers);

  platform::SpinLock& latch() LJ_RETURN_CAPABILITY(latch_) { return latch_; }
  Ring& ring() { return ring_; }
  const Ring& ring() const { return ring_; }
  const StreamHome& home() const { return home_; }
  const FlushPolicy& policy() const { return policy_; }
  bool discards() const { return discards_; }
  bool start_blocks() const { return devices_.start_blocks(); }
  uint32_t under_way() const { return devices_.under_way(); }
  void wait_for_device(uint64_t timeout_ns) { devices_.wait(timeout_ns); }

  // Returns the memory of the `bytes` that begin at stream position `position`: in the ring, or in
  // the device's own memory (LogTraits::fills_device_memory).
  std::byte* at(uint64_t position, uint64_t bytes) const {
    if (memory_ == nullptr) return ring_.at(position);
    return memory_->mapped(devices_.file_offset(position), bytes);
  }
  uint64_t durable() const { return durable_.load(platform::memory_order_acquire); }
  bool idle() const { return devices_.under_way() == 0 && durable() == owner_.filled(index_); }

  // Returns how far the ring is filled. Loads the commits first: a publisher counts its commit
  // after it has advanced filled(). So all counted commits lie before the position, or after a
  // hole.
  Progress look() const {
    const uint64_t commits = commits_.load(platform::memory_order_acquire);
    return {commits, owner_.filled(index_)};
  }
  Due due(const Progress& filled) const;
  // Returns whether a flush may be due. Loads neither filled() nor other workers' cache lines.
  bool worth_a_look() const {
    return policy_.txns != 0 || policy_.bytes != 0 || time_asks() ||
           durable_.load(platform::memory_order_relaxed) <
               goal_.load(platform::memory_order_relaxed);
  }
  uint64_t ns_until_due() const;
  uint64_t gap_ns() const;
  // Returns when the last write started, in ticks; 0 if there was none.
  uint64_t started() const { return started_.load(platform::memory_order_relaxed); }

  void count_publish(bool commits) {
    if (policy_.txns != 0 && commits) commits_.fetch_add(1, platform::memory_order_release);
    platform::full_fence();  // Release::after_publish() needs this fence, too
  }
  void note_publish();
  // Notes that the flush timeout is over. Without `now`, has no effect if a publish is unflushed.
  void note_wanted(bool now) {
    if (now || oldest_.load(platform::memory_order_relaxed) == 0) {
      oldest_.store(FlushPolicy::kLongAgo, platform::memory_order_relaxed);
    }
  }
  void forget_wanted() {
    uint64_t seen = FlushPolicy::kLongAgo;
    oldest_.compare_exchange_strong(seen, 0, platform::memory_order_relaxed);
  }
  void count_relying(bool begins) {
    const uint32_t before = relying_.fetch_add(begins ? 1U : ~0U, platform::memory_order_relaxed);
    LJ_ASSERT(begins || before > 0);
  }
  bool relied_on() const { return relying_.load() != 0; }

  // Returns whether a write by the flush policy that begins at `from` and would end at `to` ends at
  // the last block's begin.
  bool ends_at_block(uint64_t from, uint64_t to) const;

  // Finishes the writes that are done, and starts the writes that are due. With Flush::kNow, writes
  // all filled bytes. With `may_block`, waits for a write if no other write is under way.
  Step step(Flush flush, bool may_block) LJ_REQUIRES(latch_);
  // Takes the first half of step(): finishes writes. Returns whether durable() advanced.
  bool finish() LJ_REQUIRES(latch_);
  // Takes the second half of step(): starts writes. Returns whether a write started.
  bool start(Flush flush, bool may_block) LJ_REQUIRES(latch_);
  bool all_busy() const LJ_REQUIRES(latch_) { return devices_.all_busy(); }
  uint32_t depth() const { return devices_.depth(); }
  // Returns whether the last write took less time than a gap. The next write then probably does.
  bool writes_within_gap() const LJ_REQUIRES(latch_) { return write_ticks_ < gap_.ticks(); }
  void note_poll(uint64_t ticks, bool started) LJ_REQUIRES(latch_) {
    if (started) keep_pace(ticks);
  }
  void count_help(uint64_t flushes) LJ_REQUIRES(latch_) {
    helped_.add();
    helped_flushes_.add(flushes);
  }
  uint64_t helped() const { return helped_.value(); }
  // Writes zeros after the last record, if the log has grown since the last call.
  void write_log_end() LJ_REQUIRES(latch_);

  Counters counters() const;

 private:
  bool time_asks() const;          // whether kByTime applies, if any byte is filled
  uint64_t policy_clock() const {  // the argument `since` for FlushPolicy
    return (policy_.immediate() ? started_ : oldest_).load(platform::memory_order_relaxed);
  }
  uint64_t gap_now() const {
    const bool joins = pacer_ != nullptr && pacer_->joins_round(started());
    return joins ? gap_.ticks() / 2 : gap_.ticks();
  }
  FlushPolicy policy_now() const {
    FlushPolicy policy = policy_;
    policy.gap_ticks = gap_now();
    return policy;
  }

  void store_sdl(uint64_t sdl) LJ_REQUIRES(latch_);
  const Progress& look_to_write() LJ_REQUIRES(latch_);
  void start_on(StripedDevices::Member& member, uint64_t goal, bool may_block) LJ_REQUIRES(latch_);
  uint64_t goal_of(const Progress& filled, const StripedDevices::Member& member, Flush flush)
      LJ_REQUIRES(latch_);
  void raise_goal(const Progress& filled, uint64_t idle_since, Due due) LJ_REQUIRES(latch_);
  void keep_pace(uint64_t took_ticks) LJ_REQUIRES(latch_) {
    if (pacer_ != nullptr)
      gap_.at_least(pacer_->least_gap(took_ticks, write_ticks_, home_.writers));
  }

  const uint32_t index_;
  StripedDevices devices_;  // under_way() and wait(): any thread; all else: under the latch
  StreamOwner& owner_;
  const StreamHome home_;
  Ring ring_;
  PersistentMemory* const memory_;  // the device's memory, if workers fill records there
  const FlushPolicy policy_;
  const bool discards_;
  const bool at_once_;
  const uint64_t max_write_bytes_;
  const std::shared_ptr<FlushPacer> pacer_;  // null: no pace and no rounds

  alignas(platform::kCacheLine) platform::atomic<uint64_t> durable_{0};
  platform::atomic<uint64_t> goal_{0};
  platform::Counter helped_;  // how many steps workers have taken

  alignas(platform::kCacheLine) platform::atomic<uint64_t> oldest_{0};  // ticks
  platform::atomic<uint64_t> commits_{0};
  platform::atomic<uint32_t> relying_{0};

  alignas(platform::kCacheLine) platform::SpinLock latch_;
  platform::atomic<uint64_t> started_{0};

  const bool stores_sdl_;
  const std::span<std::byte> header_block_;  // of the log's first file; unchanged during a store
  const uint64_t run_;
  uint64_t sdl_ LJ_GUARDED_BY(latch_) = 0;        // the last stored SDL
  uint64_t sdl_order_ LJ_GUARDED_BY(latch_) = 0;  // the number of the write that stores sdl_
  FlushGap gap_;                                  // ticks(): any thread; all else: under the latch
  Progress seen_ LJ_GUARDED_BY(latch_);           // the progress that the last look found
  uint64_t write_ticks_ LJ_GUARDED_BY(latch_) = 0;  // how long the last lone write took
  // The position of write_log_end()'s last zeros. 0 at first: a new log has zeros from its start.
  uint64_t log_end_at_ LJ_GUARDED_BY(latch_) = 0;
  std::unique_ptr<platform::MirroredMemory> log_end_ LJ_GUARDED_BY(latch_);

  // Written under the latch.
  platform::Counter flushes_, gap_ticks_, flushed_bytes_, rewrites_, helped_flushes_, late_ticks_,
      late_count_;
  platform::atomic<uint64_t> commits_flushed_{0};
};

}  // namespace logjam
