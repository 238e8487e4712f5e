// Reads a stream ahead, and hands its batches to the appliers.
//
// Protocol. Only the stream's reader thread touches the LogReader until read() has returned. The
// reader thread puts batches into a queue under this stream's mutex. An applier takes the oldest
// batch under the mutex (next), and applies it without the mutex, so several threads may apply
// batches of one stream at the same time. The cut of the parts read so far only grows. So an
// applier gets a batch once all of its records survive this cut. Otherwise the batch waits until
// more is read. When all streams have ended, the cut is final, and the surviving records are taken.
//
// A merge (apply_merged() in recover.cc) runs on one thread, and takes single records of the oldest
// batch. A batch in the queue does not change, so the merge reads it without the mutex.
//
// Memory. Sometimes the cut cannot grow unless a reader with a full queue reads on. Then the reader
// does not keep the batches that it reads, and reads them again when the queue has space. A reader
// with a full queue waits
//   (1) if its oldest batch survives, because an applier can take this batch; but not while a merge
//       waits to know whether its next record survives;
//   (2) otherwise, if another stream that has not ended is fewer bytes ahead (fewer bytes are read
//       and not taken), because that stream should be read first.
//
// No deadlock. Suppose that all threads wait. No reader waits while its queue has space, so each
// stream that is not done has a batch in its queue. If all streams have ended, the cut is final,
// and an applier or the merge can go on. Otherwise let S be the stream that is the fewest bytes
// ahead, among the streams that have not ended. (2) does not make S wait, so (1) does: the oldest
// batch of S survives. An applier would take this batch, so the threads are a merge and readers.
// The merge does not wait for a stream with an empty queue, because no queue is empty. So the merge
// waits for its next record, and then (1) makes no reader wait.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "engine/recovery/transaction_assembler.h"
#include "logging/format/log_reader.h"
#include "logging/recovery_rule.h"
#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/mutex.h"
#include "platform/thread_annotations.h"

namespace logjam {

// How far all streams have been read, and the cut of the parts read.
//
// Protocol. The reader of a stream reports only its own stream; readers and appliers of all streams
// ask for the cut. StreamReplay calls this class with its own mutex held, so a stream's mutex comes
// before the mutex of this class. This class calls only RecoveryRule, which takes no locks.
class RecoveryProgress {
 public:
  // `rule` outlives this object.
  RecoveryProgress(const RecoveryRule& rule, size_t streams)
      : rule_(rule), tails_(streams), bytes_ahead_(streams), ended_(streams), unread_(streams) {}

  // Reports that stream `stream` is read up to `tail`, which has the watermarks since the last
  // report. `ended`: this is the last report of the stream.
  void report_read(uint32_t stream, StreamTail tail, bool ended) {
    const platform::lock_guard<platform::mutex> hold(mutex_);
    LJ_ASSERT(!ended_[stream]);
    const bool watermarks = !tail.watermarks.empty();
    auto& kept = tails_[stream].watermarks;
    tail.watermarks.insert(tail.watermarks.begin(), kept.begin(), kept.end());
    tails_[stream] = std::move(tail);
    if (ended) {
      ended_[stream] = true;
      --unread_;
    }
    cut_ = std::make_shared<const Cut>(rule_.cut(tails_));
    if (watermarks || ended) rule_.forget(tails_);
  }
  // Reports how many bytes of stream `stream` are read but not taken.
  void report_ahead(uint32_t stream, uint64_t bytes) {
    const platform::lock_guard<platform::mutex> hold(mutex_);
    bytes_ahead_[stream] = bytes;
  }
  // Reports whether a merge waits until it is known whether its next record survives.
  void report_merge_waits(bool waits) {
    const platform::lock_guard<platform::mutex> hold(mutex_);
    merge_waits_ = waits;
  }

  struct Known {
    std::shared_ptr<const Cut> cut;  // of the parts read; null before the first report_read()
    bool final;                      // all streams have ended: the cut will not grow any more
  };
  Known known() const {
    const platform::lock_guard<platform::mutex> hold(mutex_);
    return {cut_, unread_ == 0};
  }
  bool others_are_less_ahead(uint32_t stream) const {
    const platform::lock_guard<platform::mutex> hold(mutex_);
    for (size_t other = 0; other < bytes_ahead_.size(); ++other) {
      if (!ended_[other] && bytes_ahead_[other] < bytes_ahead_[stream]) return true;
    }
    return false;
  }
  bool merge_waits() const {
    const platform::lock_guard<platform::mutex> hold(mutex_);
    return merge_waits_;
  }
  // Moves the tails out. Call it after all reports.
  std::vector<StreamTail> take_tails() {
    const platform::lock_guard<platform::mutex> hold(mutex_);
    return std::move(tails_);
  }

 private:
  const RecoveryRule& rule_;
  mutable platform::mutex mutex_;
  std::vector<StreamTail> tails_ LJ_GUARDED_BY(mutex_);
  std::vector<uint64_t> bytes_ahead_ LJ_GUARDED_BY(mutex_);
  std::vector<bool> ended_ LJ_GUARDED_BY(mutex_);
  size_t unread_ LJ_GUARDED_BY(mutex_);  // streams that have not ended
  bool merge_waits_ LJ_GUARDED_BY(mutex_) = false;
  std::shared_ptr<const Cut> cut_ LJ_GUARDED_BY(mutex_);
};

// How a recovery divides the memory that it may use for a log. Each stream has a share of equal
// size. Each applier has a fourth of such a share for its batch, and another fourth is for the
// ranges that wait (applier.h). If more ranges wait than that, the appliers take bodies in the
// order of their numbers. Besides the batches that wait for appliers, a stream holds five windows
// at most: the last batch that it kept; the batch that it reads; lists of these two batches (16
// bytes for each record of at least 32 bytes); a window after the stream's end; and the part of a
// record that it has read already. Not counted are records that are longer than a window, open
// transactions (transaction_assembler.h) and watermarks (RecoveryRule::forget).
struct StreamShare {
  uint64_t window_bytes;     // ReadMemory::window_bytes
  uint64_t most_held_bytes;  // of waiting batches; a stream with more keeps no further batch
  // The limit for ranges that wait, in all streams together.
  uint64_t most_waiting_bytes;
};

// Divides `bytes` of memory among the streams. A stream's share is at least 512 KiB.
inline StreamShare share_of_stream(uint64_t bytes, size_t streams, uint32_t appliers) {
  constexpr uint64_t kLeastWindow = uint64_t{64} << 10;
  const uint64_t share = std::max(bytes / (4 * streams + appliers + 1) * 4, 8 * kLeastWindow);
  const uint64_t window = std::min(share / 8, ReadMemory{}.window_bytes);
  return {window, share - 5 * window, share / 4};
}

inline constexpr uint64_t kRecoveryNapNs = 50'000;

class StreamReplay {
 public:
  enum class Next : uint8_t {
    kTaken,   // bodies to apply
    kUnread,  // no batch is read yet
    kLater,   // the next batch depends on unread parts of other streams
    kDone,    // all of the stream has been taken
  };

  // `paces` has the pace for each file. `rule`, `progress` and `meter` outlive this object.
  StreamReplay(const LogFiles& files, uint32_t stream, const RecoveryRule& rule,
               RecoveryProgress& progress, StreamShare share, LogMemoryMeter& meter,
               std::vector<DevicePace*> paces);

  // Reads the stream to the end of its usable log. Blocks on the file, and while the queue is full.
  // Call it on a thread of its own: it waits for threads that call next().
  void read();

  // Takes the next bodies, in log order. Never waits.
  Next next(BodiesToApply* ready);

  // Returns the largest sequence number that next() has taken.
  uint64_t reached() const { return reached_.load(platform::memory_order_relaxed); }

  // Sets `batch` to the oldest batch, which lives until drop_oldest(). Only a merge calls this
  // function and the next two, in place of next().
  Next oldest(const RecordBatch** batch);
  // Takes record `i` of the oldest batch, and adds the bodies that it completes to `ready`. Returns
  // false if it is not known yet whether the record survives.
  bool take(const RecordBatch& batch, size_t i, const RecoveryProgress::Known& known,
            BodiesToApply* ready);
  // Drops the oldest batch, whose records are all taken.
  void drop_oldest();

  // Returns the stream's reader. Call this function and the next after all other threads are done.
  const LogReader& reader() const { return reader_; }
  const TransactionAssembler& assembler() const { return assembler_; }

 private:
  struct Held {
    RecordBatch batch;
    size_t surviving = 0;  // the first `surviving` records survive for certain
  };
  enum class Step : uint8_t {
    kReadOn,     // reads the next batch and keeps it
    kPassOver,   // reads the next batch and does not keep it
    kReadAgain,  // reads again, and keeps, the next batch that was not kept
    kWait,
    kEnd,
  };

  Step next_step();
  void read_on(bool keeps);
  void read_again();
  void keep(RecordBatch batch) LJ_REQUIRES(mutex_);
  void report_ahead() LJ_REQUIRES(mutex_);
  bool is_certain(const RecoveryProgress::Known& known) LJ_REQUIRES(mutex_);

  const uint32_t stream_;
  const uint64_t most_held_bytes_;
  RecoveryProgress& progress_;
  LogReader reader_;
  platform::mutex mutex_;
  TransactionAssembler assembler_;  // under mutex_; but a merge uses it without the mutex
  std::deque<Held> held_ LJ_GUARDED_BY(mutex_);
  uint64_t held_bytes_ LJ_GUARDED_BY(mutex_) = 0;
  // Only the reader stores the end of the part read so far, and the end of the last batch kept.
  uint64_t read_ LJ_GUARDED_BY(mutex_);
  uint64_t kept_ LJ_GUARDED_BY(mutex_);
  bool ended_ LJ_GUARDED_BY(mutex_) = false;
  // Stored under mutex_. An applier reads it only to choose the stream from which it takes first.
  platform::atomic<uint64_t> reached_{0};
};

using StreamReplays = std::vector<std::unique_ptr<StreamReplay>>;

}  // namespace logjam
