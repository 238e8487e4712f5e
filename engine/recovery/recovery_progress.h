// How far all streams have been read, and the cut that follows.
//
// Protocol. One mutex guards everything. The reader of a stream reports only its own stream;
// readers and appliers of all streams ask. StreamReplay calls with its own mutex held, so the order
// of locks is: a stream's, then this one. With the mutex held, this class calls only
// functions of RecoveryRule, which take no locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "logging/recovery_rule.h"
#include "platform/mutex.h"

namespace logjam {

// Thread-safe, except take_tails().
class RecoveryProgress {
 public:
  // `streams` is the number of streams, of which nothing is read yet; `rule` outlives this object.
  RecoveryProgress(const RecoveryRule& rule, size_t streams)
      : rule_(rule), tails_(streams), bytes_ahead_(streams), ended_(streams), unread_(streams) {}

  // Reports that stream `stream` is read up to `tail`, whose watermarks are those since the last
  // report. `ended`: that is all of it (reported once).
  void report_read(uint32_t stream, StreamTail tail, bool ended);
  // Reports how many bytes of stream `stream` are read and not taken yet.
  void report_ahead(uint32_t stream, uint64_t bytes);
  // Reports whether a merge waits until it is known whether its next record survives.
  void report_merge_waits(bool waits);

  struct Known {
    std::shared_ptr<const Cut> cut;  // of the parts read; null before any report_read()
    bool final;                      // all streams have ended: the cut will not grow any more
  };
  Known known() const;

  // Returns whether a stream that has not ended is fewer bytes ahead than `stream` is.
  bool others_are_less_ahead(uint32_t stream) const;
  bool merge_waits() const;

  // Moves all tails out. Called by one thread, after all others are done with this object.
  std::vector<StreamTail> take_tails() { return std::move(tails_); }

 private:
  const RecoveryRule& rule_;
  mutable platform::mutex mutex_;
  std::vector<StreamTail> tails_;
  std::vector<uint64_t> bytes_ahead_;
  std::vector<bool> ended_;
  size_t unread_;  // streams that have not ended
  bool merge_waits_ = false;
  std::shared_ptr<const Cut> cut_;
};

inline void RecoveryProgress::report_read(uint32_t stream, StreamTail tail, bool ended) {
  platform::lock_guard<platform::mutex> hold(mutex_);
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
