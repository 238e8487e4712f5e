#include "logging/format/record.h"

// Records are short: a call and a dispatch would cost as much as the hash.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>
#include <limits>
#include <string>

#include "platform/copy.h"
#include "platform/fatal.h"

namespace logjam {
namespace {

RecordHeader* header_at(std::byte* hole) { return reinterpret_cast<RecordHeader*>(hole); }

std::byte* add_row(std::byte* to, const std::byte* row, uint32_t row_bytes) {
  const uint32_t padded = padded_row(row_bytes);
  // The last word is written first: it zeroes the padding, and then the copy overwrites its start
  // with the end of the row.
  if (padded != row_bytes) std::memset(to + padded - 8, 0, 8);
  platform::copy(to, row, row_bytes);
  return to + padded;
}

}  // namespace

RecordWriter::RecordWriter(std::byte* hole, uint32_t bytes, RecordKind kind, uint64_t sequence,
                           uint64_t txn, uint8_t flags)
    : hole_(hole), next_(hole + sizeof(RecordHeader)) {
  *header_at(hole) = RecordHeader{0, sequence, txn, bytes, kind, flags, 0};
}

void RecordWriter::add(const LoggedWrite& write) {
  RecordHeader* header = header_at(hole_);
  if (header->writes == std::numeric_limits<uint16_t>::max()) {
    platform::fatal("a transaction wrote more than 65535 rows, which one log record cannot hold");
  }
  ++header->writes;
  std::memcpy(next_, &write.header, sizeof(WriteHeader));
  next_ += sizeof(WriteHeader);
  const uint32_t row_bytes = write.header.row_bytes;
  if (write.header.op != WriteOp::kErase) next_ = add_row(next_, write.after, row_bytes);
  if (write.header.image == WriteImage::kBeforeAndAfter) {
    next_ = add_row(next_, write.before, row_bytes);
  }
}

void RecordWriter::add(const LoggedCommand& command) {
  const auto bytes = static_cast<uint32_t>(command.input.size());
  const CommandHeader header{command.type, command.rows, bytes};
  std::memcpy(next_, &header, sizeof header);
  next_ += sizeof header;
  if (bytes != 0) next_ = add_row(next_, command.input.data(), bytes);
}

void RecordWriter::add(uint64_t watermark_word) {
  std::memcpy(next_, &watermark_word, sizeof watermark_word);
  next_ += sizeof watermark_word;
}

void RecordWriter::seal(uint64_t run, uint64_t position) {
  RecordHeader* header = header_at(hole_);
  const bool empty = header->kind == RecordKind::kVoid || header->kind == RecordKind::kPadding;
  if (!empty && next_ != hole_ + header->bytes) {
    platform::fatal("a log record of " + std::to_string(next_ - hole_) +
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
