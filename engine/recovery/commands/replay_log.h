// The log scheme of a replaying thread: its transactions commit to it in place of a real log.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/recovery/commands/commit_order.h"
#include "logging/format/record.h"
#include "logging/log_scheme.h"

namespace logjam {

// Gives each transaction the sequence number of its record, and writes nothing. Compares the
// command that the transaction would log with the record. If they agree, passes the turn on:
// concurrency control calls the log when the transaction is certain to commit, before it installs
// the rows. Only the replaying thread uses a ReplayLog.
class ReplayLog final : public LogScheme {
 public:
  explicit ReplayLog(CommitOrder& order)
      : LogScheme(LogConfig{.traits = {.commands = true}}), order_(order) {}

  // Announces that the next transaction repeats command `index`, which has the turn. Its record has
  // the number `sequence`, and says that the command changed `rows` rows.
  void expect(uint64_t index, uint64_t sequence, uint16_t rows) {
    index_ = index;
    sequence_ = sequence;
    expected_rows_ = rows;
    rows_ = 0;
    in_order_ = true;
  }
  // Returns what is wrong with the transaction that has committed, or an empty string.
  std::string wrong() const {
    if (!in_order_) return "read or overwrote what has a larger sequence number";
    if (rows_ == expected_rows_) return "";
    return "changed " + std::to_string(rows_) + " rows now, and " + std::to_string(expected_rows_) +
           " in the run";
  }

  LogReservation reserve(uint32_t, const Dependencies& deps, uint32_t bytes) override {
    in_order_ = std::max(deps.max_read, deps.max_overwritten) < sequence_;
    hole_.resize(std::max<size_t>(hole_.size(), bytes / sizeof(uint64_t)));
    return {.sequence = sequence_,
            .position = 0,
            .hole = reinterpret_cast<std::byte*>(hole_.data()),
            .bytes = bytes,
            .stream = 0};
  }
  CommitPoint publish(uint32_t, const LogReservation& reservation, RecordRole role) override {
    LoggedCommand command;
    if (role != RecordRole::kVoid &&
        read_command(*reinterpret_cast<const RecordHeader*>(reservation.hole), &command)) {
      rows_ = command.rows;
    }
    return passed_on();
  }
  // Passes the turn on. A transaction of the run that changed nothing has no record, but a damaged
  // or forged record may claim to be one.
  CommitPoint commit_read_only(uint32_t, const Dependencies&) override { return passed_on(); }
  bool is_durable(const CommitPoint&) const override { return true; }
  void poll(uint32_t) override {}
  uint32_t flushers() const override { return 0; }
  void flush(uint32_t, bool) override {}
  bool idle() const override { return true; }
  uint64_t max_record_bytes() const override { return ~uint32_t{0}; }

 private:
  CommitPoint passed_on() {
    if (in_order_ && rows_ == expected_rows_) order_.pass(index_);
    return {};
  }

  CommitOrder& order_;
  uint64_t index_ = 0;
  uint64_t sequence_ = 0;
  uint16_t expected_rows_ = 0;
  uint16_t rows_ = 0;
  bool in_order_ = true;
  std::vector<uint64_t> hole_;
};

}  // namespace logjam
