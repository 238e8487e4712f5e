// What all schemes share whose sequence number is the LSN in one stream: the byte offset of the
// record's *end*, so that it is never 0 and "LSN <= durable" means that all of it is durable.
//
// Log order is the order of reserve(), hence a serial order. What a transaction read or overwrote
// was numbered before it and lies before it, so a prefix of the log lacks nothing that it depends
// on (R4): recovery uses all up to the first gap, and nothing behind.
#pragma once

#include <vector>

#include "logging/log_scheme.h"

namespace logjam {

class LsnScheme : public LogScheme {
 public:
  Traits traits() const override { return {}; }
  // Under early lock release it may have read what is not durable yet; what it read last was logged
  // after everything that this depends on.
  Point observe(uint32_t, const Dependencies& deps) override {
    return {.sequence = deps.max_read, .stream = 0};
  }
  Cut cut(const std::vector<StreamTail>& tails) const override {
    return {.bytes = {tails[0].bytes}, .why = tails[0].why};
  }
  bool survives(const RecordHeader&, uint32_t, const Cut&) const override { return true; }

 protected:
  using LogScheme::LogScheme;

  static Ticket ticket(uint64_t begin, uint32_t bytes, std::byte* hole) {
    return {
        .sequence = begin + bytes, .position = begin, .hole = hole, .bytes = bytes, .stream = 0};
  }
};

}  // namespace logjam
