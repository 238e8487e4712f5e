// What all schemes share whose sequence number is the LSN in one stream. The LSN is the byte offset
// of the record's *end*. So it is never 0, and "LSN <= durable" means that all of the record is
// durable.
//
// Log order is the order of reserve(), hence a serial order. The records of what a transaction read
// or overwrote have smaller numbers than its record, and lie before it. So a prefix of the log
// lacks nothing that it depends on (R4), and the recovery rule is first_gap()
// (logging/recovery_rule.h).
#pragma once

#include "logging/log_scheme.h"

namespace logjam {

class LsnScheme : public LogScheme {
 public:
  // Under early lock release the transaction may have read rows whose records are not durable yet.
  // The record with the largest number that it read lies behind all records that it depends on.
  CommitPoint commit_read_only(uint32_t, const Dependencies& deps) override {
    return commit_point(deps.max_read);
  }

  // A record's number is its end, so what is durable has these numbers.
  std::vector<uint64_t> durable_sequences() const override { return durable_positions(); }

 protected:
  using LogScheme::LogScheme;

  static CommitPoint commit_point(uint64_t lsn) { return CommitPoint::in_stream(0, lsn); }
  static LogReservation reservation(uint64_t begin, uint32_t bytes, std::byte* hole,
                                    uint64_t durable) {
    return {.sequence = begin + bytes,
            .position = begin,
            .durable = durable,
            .hole = hole,
            .bytes = bytes,
            .stream = 0};
  }
};

}  // namespace logjam
