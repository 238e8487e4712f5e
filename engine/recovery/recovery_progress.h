// How far all streams have been read, and the cut that follows.
//
// Protocol. The reader of a stream reports only its own stream; readers and appliers of all streams
// ask. StreamReplay calls with its own mutex held, so the order of the mutexes is: a stream's, then
// this one. With this mutex held, this class calls only functions of RecoveryRule, which take no
// locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "logging/recovery_rule.h"
#include "platform/assert.h"
#include "platform/mutex.h"
#include "platform/thread_annotations.h"

namespace logjam {

class RecoveryProgress {
 public:
  // `streams` is the number of streams. Nothing of them is read yet. `rule` outlives this object.
  RecoveryProgress(const RecoveryRule& rule, size_t streams)
      : rule_(rule), tails_(streams), bytes_ahead_(streams), ended_(streams), unread_(streams) {}

  // Reports that stream `stream` is read up to `tail`, which has the watermarks since the last
  // report. `ended`: this is the last report of the stream.
  void report_read(uint32_t stream, StreamTail tail, bool ended);
  // Reports how many bytes of stream `stream` are read and not taken.
  void report_ahead(uint32_t stream, uint64_t bytes);
  // Reports whether a merge waits until it is known whether its next record survives.
  void report_merge_waits(bool waits);

  struct Known {
    std::shared_ptr<const Cut> cut;  // of the parts read; null before the first report_read()
    bool final;                      // all streams have ended: the cut will not grow any more
  };
  Known known() const;

  // Returns whether a stream that has not ended is fewer bytes ahead than `stream` is.
  bool others_are_less_ahead(uint32_t stream) const;
  bool merge_waits() const;

  // Moves all tails out. Call it after all reports.
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

inline void RecoveryProgress::report_read(uint32_t stream, StreamTail tail, bool ended) {
  platform::lock_guard<platform::mutex> hold(mutex_);
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

inline void RecoveryProgress::report_ahead(uint32_t stream, uint64_t bytes) {
  platform::lock_guard<platform::mutex> hold(mutex_);
  bytes_ahead_[stream] = bytes;
}

inline void RecoveryProgress::report_merge_waits(bool waits) {
  platform::lock_guard<platform::mutex> hold(mutex_);
  merge_waits_ = waits;
}

inline RecoveryProgress::Known RecoveryProgress::known() const {
  platform::lock_guard<platform::mutex> hold(mutex_);
  return {cut_, unread_ == 0};
}

inline bool RecoveryProgress::others_are_less_ahead(uint32_t stream) const {
  platform::lock_guard<platform::mutex> hold(mutex_);
  for (size_t other = 0; other < bytes_ahead_.size(); ++other) {
    if (!ended_[other] && bytes_ahead_[other] < bytes_ahead_[stream]) return true;
  }
  return false;
}

inline bool RecoveryProgress::merge_waits() const {
  platform::lock_guard<platform::mutex> hold(mutex_);
  return merge_waits_;
}

}  // namespace logjam
