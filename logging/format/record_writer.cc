#include "logging/format/record_writer.h"

#include <algorithm>
#include <bit>
#include <new>

#include "platform/assert.h"
#include "platform/fatal.h"

namespace logjam {
namespace {

constexpr uint64_t kFirstRoom = uint64_t{16} << 10;

}  // namespace

void too_many_writes() {
  platform::fatal("a transaction wrote more than 65535 rows, which one log record cannot hold");
}

void encode(std::byte* to, const LoggedCommand& command) {
  const auto bytes = static_cast<uint32_t>(command.input.size());
  const CommandHeader header{command.type, command.rows, bytes};
  std::memcpy(to, &header, sizeof header);
  if (bytes != 0) encode_row(to + sizeof header, command.input.data(), bytes);
}

void seal(RecordHeader* header, uint64_t encoded_bytes, uint64_t run, uint64_t position) {
  [[maybe_unused]] const bool empty =
      header->kind == RecordKind::kVoid || header->kind == RecordKind::kPadding;
  LJ_ASSERT(empty || encoded_bytes == header->bytes);
  LJ_ASSERT(header->bytes >= sizeof(RecordHeader) && header->bytes % 8 == 0);
  header->checksum = position == kPlacedLater ? 0 : record_checksum(*header, run, position);
}

void place_records(std::byte* records, uint64_t bytes, uint64_t run, uint64_t position,
                   uint64_t durable) {
  for (uint64_t at = 0; at < bytes;) {
    auto& header = *reinterpret_cast<RecordHeader*>(records + at);
    const uint64_t lag = lag_code(position + at, durable) << kLagShift;
    header.flags = static_cast<uint8_t>((header.flags & ~kLagMask) | lag);
    header.checksum = record_checksum(header, run, position + at);
    LJ_ASSERT_IN_TESTS(header.bytes >= sizeof(RecordHeader) && header.bytes % 8 == 0);
    at += header.bytes;
    LJ_ASSERT(at <= bytes);
  }
}

RecordWriter::RecordWriter(const LogReservation& hole, RecordKind kind, uint64_t txn, uint8_t flags)
    : hole_(hole.hole), next_(hole.hole + sizeof(RecordHeader)) {
  LJ_ASSERT(kind == RecordKind::kVoid || kind == RecordKind::kPadding ||
            kind == RecordKind::kWatermark);
  *reinterpret_cast<RecordHeader*>(hole_) = header_for(hole, kind, txn, flags);
}

void RecordWriter::add(uint64_t watermark_word) {
  LJ_ASSERT(next_ + sizeof watermark_word <=
            hole_ + reinterpret_cast<const RecordHeader*>(hole_)->bytes);
  std::memcpy(next_, &watermark_word, sizeof watermark_word);
  next_ += sizeof watermark_word;
}

void RecordWriter::seal(uint64_t run, uint64_t position) {
  logjam::seal(reinterpret_cast<RecordHeader*>(hole_), static_cast<uint64_t>(next_ - hole_), run,
               position);
}

void StagedRecord::Free::operator()(std::byte* memory) const {
  ::operator delete[](memory, std::align_val_t{kAlign});
}

void StagedRecord::grow(uint64_t keep_bytes) {
  room_ = std::bit_ceil(std::max(used_, kFirstRoom));
  auto* larger = static_cast<std::byte*>(::operator new[](kLead + room_, std::align_val_t{kAlign}));
  if (memory_ != nullptr) std::memcpy(larger + kLead, record(), keep_bytes);
  memory_.reset(larger);
}

void StagedRecord::fill(const LogReservation& hole, RecordKind kind, uint64_t txn, uint8_t flags,
                        uint64_t run) {
  if (memory_ == nullptr) grow(0);
  if (!hole.vector.empty()) {
    std::memcpy(take(hole.vector.size_bytes()), hole.vector.data(), hole.vector.size_bytes());
    flags |= kVector;
  }
  auto* header = reinterpret_cast<RecordHeader*>(record());
  *header = header_for(hole, kind, txn, flags);
  header->writes = static_cast<uint16_t>(writes_);
  seal(header, used_, run, hole.position);
  platform::copy(hole.hole, record(), hole.bytes);
}

}  // namespace logjam
