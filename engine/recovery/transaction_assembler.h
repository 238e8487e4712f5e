// Makes the bodies of committed transactions from one stream's records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "logging/format/log_reader.h"
#include "logging/format/record.h"
#include "logging/recovery_rule.h"

namespace logjam {

// Writes of committed transactions, for the applier.
struct BodiesToApply {
  struct Body {
    uint64_t sequence;           // of the transaction's commit
    const RecordHeader* record;  // its writes; points into `memory`
  };
  std::vector<LogMemory> memory;
  std::vector<Body> bodies;
};

// Collects the writes of each transaction until its commit is known. A whole-transaction record
// commits itself; the records of operations wait for their commit record (--log_records=op). If a
// validation fails, a void record is in the place of the commit record
// (CommitLog::validation_failed). The void record ends only this attempt, because each attempt has
// its own number (RecordHeader::txn). One thread at a time uses the object.
class TransactionAssembler {
 public:
  struct Counts {
    uint64_t records = 0;       // records that survived the cut
    uint64_t bytes = 0;         // of the surviving records
    uint64_t transactions = 0;  // committed transactions
    uint64_t beyond_cut = 0;    // records that did not survive
  };

  // Counts the records of open transactions with `meter` (null: none). `meter` and `rule` outlive
  // the object.
  TransactionAssembler(uint32_t stream, const RecoveryRule& rule, LogMemoryMeter* meter = nullptr)
      : stream_(stream), rule_(rule), meter_(meter) {}

  // Returns whether record `i` of `batch` may be used if the streams end at `cut`. Once true, the
  // result stays true as more of the streams is read.
  bool survives(const RecordBatch& batch, size_t i, const Cut& cut) const;

  // Takes the stream's next batch. Ignores records that do not survive `cut`. Returns the bodies
  // that the batch completes. The bodies keep the batch's memory alive.
  BodiesToApply take(const RecordBatch& batch, const Cut& cut);

  // Takes record `i` of `batch`, the next record of the stream, and adds the bodies that it
  // completes to `ready`. The caller keeps the batch's memory until these bodies are applied, and
  // calls leave() after the batch's last record.
  void take(const RecordBatch& batch, size_t i, const Cut& cut, BodiesToApply* ready);
  // Copies the records of open transactions, so that they do not keep the memory of `batch`.
  void leave(const RecordBatch& batch);

  const Counts& counts() const { return counts_; }
  uint64_t open_transactions() const { return open_.size(); }

 private:
  struct Operation {
    LogMemory memory;  // in which the record lies
    const RecordHeader* record;
  };

  void take(const RecordHeader& record, const LogMemory& memory, BodiesToApply* ready);

  const uint32_t stream_;
  const RecoveryRule& rule_;
  LogMemoryMeter* const meter_;
  Counts counts_;
  size_t taken_ = 0;                                           // records of the present batch
  std::unordered_map<uint64_t, std::vector<Operation>> open_;  // by transaction
};

}  // namespace logjam
