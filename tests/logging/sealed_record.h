// A record in a test's memory, written in the same way as a worker writes a record into its hole.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "logging/format/record_writer.h"

namespace logjam {

class SealedRecord {
 public:
  static constexpr uint64_t kRun = 42, kTxn = 5, kSequence = 77, kPosition = 4096;

  // Copies `staged` into a hole that has the record's length, and seals the record.
  SealedRecord(StagedRecord& staged, RecordKind kind, uint8_t flags = 0,
               std::span<const uint64_t> vector = {})
      : bytes_(static_cast<uint32_t>(staged.bytes() + vector.size_bytes())),
        words_(bytes_ / 8 + kAfter, kUntouched) {
    const LogReservation hole{.sequence = kSequence,
                              .position = kPosition,
                              .durable = 1024,
                              .hole = data(),
                              .bytes = bytes_,
                              .vector = vector};
    staged.fill(hole, kind, kTxn, flags, kRun);
  }
  explicit SealedRecord(const std::vector<LoggedWrite>& writes) : SealedRecord(staged(writes)) {}
  explicit SealedRecord(const LoggedCommand& command) : SealedRecord(staged(command)) {}

  std::byte* data() { return reinterpret_cast<std::byte*>(words_.data()); }
  RecordHeader& header() { return *reinterpret_cast<RecordHeader*>(data()); }
  const std::vector<uint64_t>& words() const { return words_; }
  std::vector<std::byte> body() { return {data() + sizeof(RecordHeader), data() + bytes_}; }
  // Returns whether the memory after the hole is unchanged.
  bool stays_in_its_hole() const {
    return std::all_of(words_.end() - kAfter, words_.end(),
                       [](uint64_t word) { return word == kUntouched; });
  }
  bool checksum_is_right() {
    return header().checksum == record_checksum(header(), kRun, kPosition);
  }

 private:
  static constexpr size_t kAfter = 16;
  static constexpr uint64_t kUntouched = 0xeeeeeeeeeeeeeeee;

  struct Staged {
    StagedRecord record;
    RecordKind kind;
  };
  explicit SealedRecord(Staged staged) : SealedRecord(staged.record, staged.kind) {}
  static Staged staged(const std::vector<LoggedWrite>& writes) {
    Staged one{{}, RecordKind::kTransaction};
    for (const LoggedWrite& write : writes) one.record.add(write);
    return one;
  }
  static Staged staged(const LoggedCommand& command) {
    Staged one{{}, RecordKind::kCommand};
    one.record.add(command);
    return one;
  }

  uint32_t bytes_;
  std::vector<uint64_t> words_;
};

}  // namespace logjam
