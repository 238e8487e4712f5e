// Encodes records (logging/format/record.h). A StagedRecord assembles a record of a transaction; a
// RecordWriter writes the other records. One thread at a time may use an object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "logging/commit_point.h"
#include "logging/format/record.h"
#include "platform/copy.h"

namespace logjam {

// Writes the image of a write, padded with zeros to a multiple of 8 bytes. Returns the image's end.
inline std::byte* encode_row(std::byte* to, const std::byte* row, uint32_t row_bytes) {
  const uint32_t padded = padded_row(row_bytes);
  // The last word is zeroed first; then the copy overwrites its start with the end of the row.
  if (padded != row_bytes) std::memset(to + padded - 8, 0, 8);
  platform::copy_row(to, row, row_bytes);
  return to + padded;
}

// Encodes the write, or the command, in encoded_bytes() bytes at `to`.
inline void encode(std::byte* to, const LoggedWrite& write) {
  // Copies field by field: a load of the whole header would wait for the stores of its fields.
  auto& header = *reinterpret_cast<WriteHeader*>(to);
  header.table = write.header.table;
  header.op = write.header.op;
  header.image = write.header.image;
  header.image_bytes = write.header.image_bytes;
  header.key = write.header.key;
  to += sizeof(WriteHeader);
  const uint32_t image_bytes = write.header.image_bytes;
  if (write.header.op != WriteOp::kErase) to = encode_row(to, write.after, image_bytes);
  if (write.header.image == WriteImage::kBeforeAndAfter) encode_row(to, write.before, image_bytes);
}
void encode(std::byte* to, const LoggedCommand& command);

[[noreturn]] void too_many_writes();

// Returns the header of the record for `hole`, without the checksum and the number of writes.
inline RecordHeader header_for(const LogReservation& hole, RecordKind kind, uint64_t txn,
                               uint8_t flags) {
  const uint32_t lag = lag_code(hole.position, hole.durable) << kLagShift;
  return {0, hole.sequence, txn, hole.bytes, kind, static_cast<uint8_t>(flags | hole.flags | lag),
          0};
}

// Stores the checksum of the record at `header`, unless the record is placed later (kPlacedLater).
// Only the record's first `encoded_bytes` bytes were written. These are all its bytes, except in
// kVoid and kPadding records.
void seal(RecordHeader* header, uint64_t encoded_bytes, uint64_t run, uint64_t position);

// Seals the records in the `bytes` bytes at `records`. They had no position before (kPlacedLater),
// and now lie at `position` of a stream that is durable up to `durable`.
void place_records(std::byte* records, uint64_t bytes, uint64_t run, uint64_t position,
                   uint64_t durable);

// Writes a void, padding or watermark record directly into its hole.
class RecordWriter {
 public:
  // Writes the record's header. The caller owns the memory of `hole`.
  RecordWriter(const LogReservation& hole, RecordKind kind, uint64_t txn, uint8_t flags = 0);
  // Appends a word to the body of a kWatermark record.
  void add(uint64_t watermark_word);
  void seal(uint64_t run, uint64_t position);

 private:
  std::byte* const hole_;
  std::byte* next_;
};

// A record that is assembled in its worker's own memory, and then copied into its hole as a whole.
//
// The memory of a hole was last used one lap of the ring ago, so it is in no cache near the worker.
// A worker that wrote a record there in pieces, and read it again for the checksum, would wait for
// memory. A staged record stays in the worker's cache. The body is encoded before the hole is
// reserved. So the encoder knows how many bytes to reserve. An open hole holds up its stream's
// watermark, and no hole is open while the body is encoded.
class StagedRecord {
 public:
  StagedRecord() { start(); }
  void start() {
    used_ = sizeof(RecordHeader);
    writes_ = 0;
  }
  void add(const LoggedWrite& write) {
    if (writes_++ == kMostWrites) [[unlikely]]
      too_many_writes();
    encode(take(encoded_bytes(write.header)), write);
  }
  void add(const LoggedCommand& command) { encode(take(encoded_bytes(command)), command); }
  uint64_t bytes() const { return used_; }

  // Appends the hole's LSN vector, copies the record into the hole, and seals it for the run.
  void fill(const LogReservation& hole, RecordKind kind, uint64_t txn, uint8_t flags, uint64_t run);

 private:
  // Aligns the record's second word, where the checksum begins, for vector loads.
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
  uint64_t room_ = 0;  // how many bytes of `memory_` the record may take
  uint64_t used_ = 0;
  uint32_t writes_ = 0;
};

}  // namespace logjam
