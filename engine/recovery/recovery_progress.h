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

}  // namespace logjam
