// A record that is assembled in its worker's own memory, and copied into its hole in one go.
//
// The memory of a hole was last used a lap of the ring ago, so it is in no cache near the worker.
// Bytes that are written there piece by piece, and then read again for the checksum, wait for
// memory. A staged record is written and checksummed in memory that stays in the worker's cache.
// Its body is encoded before the hole is reserved. So the encoder knows how many bytes to reserve,
// and the hole, which holds up its stream's watermark, is open for a shorter time.
//
// One thread uses the object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "logging/commit_point.h"
#include "logging/format/record_writer.h"

namespace logjam {

class StagedRecord {
 public:
  StagedRecord() { start(); }
  // Starts a new record without a body. Drops the previous one.
  void start() {
    used_ = sizeof(RecordHeader);
    writes_ = 0;
  }
  // Appends a write to the body. Ends the process if the record already has kMostWrites.
  void add(const LoggedWrite& write) {
    if (writes_++ == kMostWrites) [[unlikely]]
      too_many_writes();
    encode(take(encoded_bytes(write.header)), write);
  }
  // Makes `command` the body.
  void add(const LoggedCommand& command) { encode(take(encoded_bytes(command)), command); }
  // Returns the length of the record as it is now.
  uint64_t bytes() const { return used_; }

  // Appends the hole's LSN vector to the record, copies the record into the hole, and seals it for
  // the run `run`.
  void fill(const LogReservation& hole, RecordKind kind, uint64_t txn, uint8_t flags, uint64_t run);

 private:
  // The checksum covers the record from its second word on, which is aligned for vector loads.
  static constexpr size_t kAlign = 64, kLead = kAlign - sizeof(uint64_t);

  struct Free {
    void operator()(std::byte* memory) const;
  };

  std::byte* record() { return memory_.get() + kLead; }
  std::byte* take(uint64_t bytes) {
    const uint64_t begin = used_;
    used_ += bytes;
    if (used_ > room_) [[unlikely]]
      grow(begin);
    return record() + begin;
  }
  void grow(uint64_t keep_bytes);

  std::unique_ptr<std::byte[], Free> memory_;
  uint64_t room_ = 0;  // for the record, in memory_
  uint64_t used_ = 0;
  uint32_t writes_ = 0;
};

}  // namespace logjam
