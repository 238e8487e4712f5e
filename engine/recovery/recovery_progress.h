// How far all streams have been read, and the cut that follows.
//
// Protocol. One mutex guards everything. The reader of a stream reports only its own stream;
// readers and appliers of all streams ask. StreamReplay calls with its own mutex held, so the order
// of locks is: a stream's, then this one. With the mutex held, this class calls only
// RecoveryRule::cut, which takes no locks.
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
      : rule_(rule), tails_(streams), held_bytes_(streams), ended_(streams), unread_(streams) {}

  // Reports that stream `stream` is read up to `tail`. `ended`: that is all of it (reported once).
  void report_read(uint32_t stream, const StreamTail& tail, bool ended);
  // Reports how many bytes of stream `stream` are in memory and not applied yet.
  void report_held(uint32_t stream, uint64_t bytes);

  struct Known {
    std::shared_ptr<const Cut> cut;  // of the parts read; null before any report_read()
    bool final;                      // all streams have ended: the cut will not grow any more
  };
  Known known() const;

  // Returns whether a stream that has not ended holds fewer bytes than `stream` does.
  bool others_hold_less(uint32_t stream) const;

  // Moves all tails out. Called by one thread, after all others are done with this object.
  std::vector<StreamTail> take_tails() { return std::move(tails_); }

 private:
  const RecoveryRule& rule_;
  mutable platform::mutex mutex_;
  std::vector<StreamTail> tails_;
  std::vector<uint64_t> held_bytes_;
  std::vector<bool> ended_;
  size_t unread_;  // streams that have not ended
  std::shared_ptr<const Cut> cut_;
};

}  // namespace logjam
