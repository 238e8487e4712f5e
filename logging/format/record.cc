#include "logging/format/record.h"

// Inlines the hash: for a short record, a library call would cost as much as the hash itself.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

#include "platform/assert.h"

namespace logjam {
namespace {

// Returns the seed of a checksum. The odd factor gives each position of a run its own seed.
uint64_t checksum_seed(uint64_t run, uint64_t position) {
  return run + position * 0x9e3779b97f4a7c15;
}

}  // namespace

uint64_t record_checksum(const RecordHeader& header, uint64_t run, uint64_t position) {
  LJ_ASSERT_IN_TESTS(header.bytes >= sizeof(RecordHeader));
  return XXH3_64bits_withSeed(reinterpret_cast<const std::byte*>(&header) + sizeof(uint64_t),
                              header.bytes - sizeof(uint64_t), checksum_seed(run, position));
}

struct ChecksumInPieces::State {
  XXH3_state_t hash;
};

ChecksumInPieces::ChecksumInPieces(uint64_t run, uint64_t position)
    : state_(std::make_unique<State>()) {
  XXH3_64bits_reset_withSeed(&state_->hash, checksum_seed(run, position));
}

ChecksumInPieces::~ChecksumInPieces() = default;

void ChecksumInPieces::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(&state_->hash, bytes.data(), bytes.size());
}

uint64_t ChecksumInPieces::value() const { return XXH3_64bits_digest(&state_->hash); }

RecordBody::RecordBody(const RecordHeader& header)
    : next_(reinterpret_cast<const std::byte*>(&header) + sizeof(RecordHeader)),
      end_(reinterpret_cast<const std::byte*>(&header) + header.bytes -
           vector_of(header).size_bytes()),
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
  const bool known = header.op >= WriteOp::kUpdate && header.op <= WriteOp::kErase &&
                     header.image >= WriteImage::kAfter && header.image <= WriteImage::kRanges;
  const bool has_version = header.op == WriteOp::kUpdate && header.image_bytes >= sizeof(uint64_t);
  const bool has_image = header.op != WriteOp::kErase || header.image != WriteImage::kAfter;
  // image_bytes is checked first: encoded_bytes() of an absurdly long row would wrap around.
  if (!known || (has_image && header.image_bytes > room) || encoded_bytes(header) > room ||
      (header.image == WriteImage::kRanges && !has_version)) {
    return well_formed_ = false;
  }
  const std::byte* image = next_ + sizeof(WriteHeader);
  write->after = nullptr;
  write->before = nullptr;
  if (header.op != WriteOp::kErase) {
    write->after = image;
    image += padded_row(header.image_bytes);
  }
  if (header.image == WriteImage::kBeforeAndAfter) {
    write->before = image;
    image += padded_row(header.image_bytes);
  }
  next_ = image;
  --left_;
  return true;
}

bool read_command(const RecordHeader& header, LoggedCommand* command) {
  const uint64_t room = header.bytes - sizeof(RecordHeader) - vector_of(header).size_bytes();
  if (header.kind != RecordKind::kCommand || room < sizeof(CommandHeader)) return false;
  const auto* body = reinterpret_cast<const std::byte*>(&header) + sizeof(RecordHeader);
  CommandHeader own;
  std::memcpy(&own, body, sizeof own);
  *command = {own.type, own.rows, {body + sizeof own, own.input_bytes}};
  return encoded_bytes(*command) == room;
}

}  // namespace logjam
