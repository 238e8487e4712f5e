// From one stream's records to the bodies of committed transactions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "logging/format/log_reader.h"
#include "logging/format/record.h"
#include "logging/recovery_rule.h"

namespace logjam {

// Writes of committed transactions. The tuples' versions decide who wins, so bodies may be applied
// in any order.
struct BodiesToApply {
  struct Body {
    uint64_t sequence;           // of the transaction's commit
    const RecordHeader* record;  // its writes; points into `memory`
  };
  std::vector<std::shared_ptr<std::vector<std::byte>>> memory;
  std::vector<Body> bodies;
};

// Collects the writes of each transaction until it is known to be committed: a whole-transaction
// record is committed by itself, records of single operations by their commit record
// (--log_records=op).
//
// Not thread-safe: StreamReplay calls it under a mutex.
class TransactionAssembler {
 public:
  struct Counts {
    uint64_t records = 0;       // that survived the cut
    uint64_t bytes = 0;         // of these records
    uint64_t transactions = 0;  // committed ones
    uint64_t beyond_cut = 0;    // records that did not survive
  };

  // Assembles stream `stream`; `rule` outlives this object.
  TransactionAssembler(uint32_t stream, const RecoveryRule& rule) : stream_(stream), rule_(rule) {}

  // Returns whether record `i` of `batch` may be used if the streams end at `cut`. Once true, the
  // result stays true as streams are read further (RecoveryRule::cut is monotone).
  bool survives(const RecordBatch& batch, size_t i, const Cut& cut) const;

  // Returns the bodies that `batch` completes, of records that survive `cut`; they keep `batch`'s
  // memory alive. The stream's batches must be passed in their order, each once.
  BodiesToApply take(const RecordBatch& batch, const Cut& cut);

  const Counts& counts() const { return counts_; }
  // Returns how many transactions have begun and have no commit record so far.
  uint64_t open_transactions() const { return open_.size(); }

 private:
  using Memory = std::shared_ptr<std::vector<std::byte>>;

  void take(const RecordHeader& record, const Memory& memory, BodiesToApply* ready);

  const uint32_t stream_;
  const RecoveryRule& rule_;
  Counts counts_;
  // By transaction: its operations so far, and the memory that each lies in.
  std::unordered_map<uint64_t, std::vector<std::pair<Memory, const RecordHeader*>>> open_;
};

}  // namespace logjam
