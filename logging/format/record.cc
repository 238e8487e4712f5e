#include "logging/format/record.h"

// Records are short: a call and a dispatch would cost as much as the hash.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>
#include <string>

#include "platform/fatal.h"

namespace logjam {

void too_many_writes() {
  platform::fatal("a transaction wrote more than 65535 rows, which one log record cannot hold");
}

std::byte* encode(std::byte* to, const LoggedCommand& command) {
  const auto bytes = static_cast<uint32_t>(command.input.size());
  const CommandHeader header{command.type, command.rows, bytes};
  std::memcpy(to, &header, sizeof header);
  to += sizeof header;
  return bytes == 0 ? to : encode_row(to, command.input.data(), bytes);
}

RecordWriter::RecordWriter(std::byte* hole, uint32_t bytes, RecordKind kind, uint64_t sequence,
                           uint64_t txn, uint8_t flags)
    : hole_(hole), next_(hole + sizeof(RecordHeader)) {
  *header() = RecordHeader{0, sequence, txn, bytes, kind, flags, 0};
}

RecordWriter::RecordWriter(const LogReservation& hole, RecordKind kind, uint64_t txn, uint8_t flags)
    : hole_(hole.hole), next_(hole.hole + sizeof(RecordHeader)) {
  *header() = header_for(hole, kind, txn, flags);
}

void RecordWriter::add(const LoggedWrite& write) {
  if (header()->writes == kMostWrites) too_many_writes();
  ++header()->writes;
  next_ = encode(next_, write);
}

void RecordWriter::add(const LoggedCommand& command) { next_ = encode(next_, command); }

void RecordWriter::add(uint64_t watermark_word) {
  std::memcpy(next_, &watermark_word, sizeof watermark_word);
  next_ += sizeof watermark_word;
}

void RecordWriter::seal(uint64_t run, uint64_t position) {
  logjam::seal(header(), static_cast<uint64_t>(next_ - hole_), run, position);
}

void seal(RecordHeader* header, uint64_t encoded_bytes, uint64_t run, uint64_t position) {
  const bool empty = header->kind == RecordKind::kVoid || header->kind == RecordKind::kPadding;
  if (!empty && encoded_bytes != header->bytes) {
    platform::fatal("a log record of " + std::to_string(encoded_bytes) +
                    " bytes was encoded into a hole of " + std::to_string(header->bytes));
  }
  header->checksum = record_checksum(*header, run, position);
}

uint64_t record_checksum(const RecordHeader& header, uint64_t run, uint64_t position) {
  // The odd factor spreads the positions, so that no two positions of one run share a seed.
  const uint64_t seed = run + position * 0x9e3779b97f4a7c15;
  return XXH3_64bits_withSeed(reinterpret_cast<const std::byte*>(&header) + sizeof(uint64_t),
                              header.bytes - sizeof(uint64_t), seed);
}

RecordBody::RecordBody(const RecordHeader& header)
    : next_(reinterpret_cast<const std::byte*>(&header) + sizeof(RecordHeader)),
      end_(reinterpret_cast<const std::byte*>(&header) + header.bytes),
      left_(header.writes) {}

bool RecordBody::next(LoggedWrite* write) {
  if (left_ == 0) {
    well_formed_ = well_formed_ && next_ == end_;
    return false;
  }
  const auto room = static_cast<uint64_t>(end_ - next_);
  if (!well_formed_ || room < sizeof(WriteHeader)) return well_formed_ = false;
  std::memcpy(&write->header, next_, sizeof(WriteHeader));
  const WriteHeader& header = write->header;
  const bool known =
      header.op >= WriteOp::kUpdate && header.op <= WriteOp::kErase &&
      (header.image == WriteImage::kAfter || header.image == WriteImage::kBeforeAndAfter);
  const bool has_image = header.op != WriteOp::kErase || header.image != WriteImage::kAfter;
  // row_bytes is checked first: encoded_bytes() of an absurd row would wrap around 32 bits.
  if (!known || (has_image && header.row_bytes > room) || encoded_bytes(header) > room) {
    return well_formed_ = false;
  }
  const std::byte* image = next_ + sizeof(WriteHeader);
  write->after = nullptr;
  write->before = nullptr;
  if (header.op != WriteOp::kErase) {
    write->after = image;
    image += padded_row(header.row_bytes);
  }
  if (header.image == WriteImage::kBeforeAndAfter) {
    write->before = image;
    image += padded_row(header.row_bytes);
  }
  next_ = image;
  --left_;
  return true;
}

bool read_command(const RecordHeader& header, LoggedCommand* command) {
  const uint64_t room = header.bytes - sizeof(RecordHeader);
  if (header.kind != RecordKind::kCommand || room < sizeof(CommandHeader)) return false;
  const auto* body = reinterpret_cast<const std::byte*>(&header) + sizeof(RecordHeader);
  CommandHeader own;
  std::memcpy(&own, body, sizeof own);
  *command = {own.type, own.rows, {body + sizeof own, own.input_bytes}};
  return encoded_bytes(*command) == room;
}

}  // namespace logjam
