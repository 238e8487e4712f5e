// One stream on its way from its file to the appliers.
//
// Protocol. Only the stream's reader thread touches the LogReader until read() has returned. The
// batches that it has read lie in a queue under this stream's mutex, until an applier takes the
// oldest out (next). Taking runs under the mutex and applying does not, so several threads may
// apply batches of one stream at the same time. A batch is given out when all of its records
// survive the cut of the parts of all streams read so far: that cut only grows, so the records
// survive the final one. Otherwise the batch waits until more is read, or until all streams have
// ended and the cut is final; then the records that do not survive are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/recovery/recovery_progress.h"
#include "engine/recovery/transaction_assembler.h"
#include "logging/format/log_reader.h"
#include "logging/recovery_rule.h"
#include "platform/mutex.h"

namespace logjam {

// The sleep of a recovery thread that has nothing to do.
inline constexpr uint64_t kRecoveryNapNs = 50'000;

class StreamReplay {
 public:
  enum class Next : uint8_t {
    kTaken,  // bodies to apply
    kLater,  // nothing is read, or the next batch depends on unread parts of other streams
    kDone,   // all of the stream has been taken
  };

  // Replays stream `stream` of `files`, each file read at its pace in `paces`. The reader pauses
  // while `most_held_bytes` are read and not taken. `rule` and `progress` outlive this object.
  StreamReplay(const LogFiles& files, uint32_t stream, const RecoveryRule& rule,
               RecoveryProgress& progress, uint64_t most_held_bytes,
               std::vector<DevicePace*> paces);

  // Reads the stream to the end of its usable log. Blocks on the file, and while enough is held.
  // Called once, by the stream's reader thread, which does nothing else: it waits for threads that
  // call next(), and these wait for the readers of all streams.
  void read();

  // Takes the next bodies, in log order. Any thread may call it at any time; it never waits for
  // the file or for another stream.
  Next next(BodiesToApply* ready);

  // Returns the reader. Called by one thread, after all others are done with this object.
  const LogReader& reader() const { return reader_; }
  const TransactionAssembler& assembler() const { return assembler_; }

 private:
  struct Held {
    RecordBatch batch;
    size_t surviving = 0;  // the number of its first records that survive for certain
  };

  bool may_read_on();
  bool is_certain(const RecoveryProgress::Known& known);

  const uint32_t stream_;
  const uint64_t most_held_bytes_;
  RecoveryProgress& progress_;
  LogReader reader_;
  platform::mutex mutex_;
  // All below are guarded by mutex_.
  TransactionAssembler assembler_;
  std::deque<Held> held_;
  uint64_t held_bytes_ = 0;
  bool ended_ = false;
};

using StreamReplays = std::vector<std::unique_ptr<StreamReplay>>;

}  // namespace logjam
