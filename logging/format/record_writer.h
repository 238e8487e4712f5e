// Encodes records (logging/format/record.h). A record of a transaction is assembled by a
// StagedRecord (logging/format/staged_record.h); a RecordWriter writes the others.
//
// Any thread may call any function here. Each object is used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "logging/commit_point.h"
#include "logging/format/record.h"
#include "platform/copy.h"

namespace logjam {

// Writes the image of a write at `to`, padded with zeros to a multiple of 8 bytes. Returns where it
// ends.
inline std::byte* encode_row(std::byte* to, const std::byte* row, uint32_t row_bytes) {
  const uint32_t padded = padded_row(row_bytes);
  // The last word is written first: it zeroes the padding, and then the copy overwrites its start
  // with the end of the row.
  if (padded != row_bytes) std::memset(to + padded - 8, 0, 8);
  platform::copy_row(to, row, row_bytes);
  return to + padded;
}

// Writes encoded_bytes() of the write at `to`.
inline void encode(std::byte* to, const LoggedWrite& write) {
  // Field by field: the header was just made that way, and a wider load would wait for the stores.
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

// Writes encoded_bytes() of the command at `to`.
void encode(std::byte* to, const LoggedCommand& command);

// Ends the process: a transaction has more than kMostWrites writes.
[[noreturn]] void too_many_writes();

// Returns the header of the record for `hole`, still without its checksum and its number of writes.
// The header says how far the hole's stream was durable.
inline RecordHeader header_for(const LogReservation& hole, RecordKind kind, uint64_t txn,
                               uint8_t flags) {
  const uint32_t lag = lag_code(hole.position, hole.durable) << kLagShift;
  return {0, hole.sequence, txn, hole.bytes, kind, static_cast<uint8_t>(flags | hole.flags | lag),
          0};
}

// Stores the checksum of the record that begins with `header`, for the run `run` and the stream
// position `position`. `encoded_bytes` were written of it: all, unless it is a kVoid or kPadding
// record. A record that is kPlacedLater gets no checksum yet.
void seal(RecordHeader* header, uint64_t encoded_bytes, uint64_t run, uint64_t position);

// Seals records that were kPlacedLater: the `bytes` at `records`, which lie at `position` of a
// stream that is durable up to `durable`.
void place_records(std::byte* records, uint64_t bytes, uint64_t run, uint64_t position,
                   uint64_t durable);

// Writes a void, padding or watermark record directly into its hole.
class RecordWriter {
 public:
  // Writes the record's header. `hole` stays the caller's.
  RecordWriter(const LogReservation& hole, RecordKind kind, uint64_t txn, uint8_t flags = 0);
  // Appends a word to the body of a kWatermark record.
  void add(uint64_t watermark_word);
  // Stores the checksum.
  void seal(uint64_t run, uint64_t position);

 private:
  std::byte* const hole_;
  std::byte* next_;
};

}  // namespace logjam
