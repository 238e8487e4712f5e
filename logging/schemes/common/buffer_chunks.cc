#include "logging/schemes/common/buffer_chunks.h"

#include <algorithm>
#include <bit>

#include "logging/format/record_writer.h"
#include "platform/assert.h"

namespace logjam {
namespace {

constexpr uint64_t kLeastRecordBytes = sizeof(RecordHeader);
constexpr uint64_t kWatermarks = 8;  // slots for watermarks that were not passed yet

// `next_`: the upper bits are a number, which may begin again; the lower bits count kUnit bytes.
constexpr int kBeginBits = 46;
constexpr uint64_t kUnit = ChunkLength::kUnit;
constexpr uint64_t kMostStreamBytes = kUnit << kBeginBits;
constexpr uint64_t kMostSlots = uint64_t{1} << (64 - kBeginBits);

uint64_t number_of(uint64_t next) { return next >> kBeginBits; }
uint64_t begin_of(uint64_t next) { return next * kUnit % kMostStreamBytes; }
// Returns the amount that a chunk of `bytes` adds to `next_`.
uint64_t step(uint64_t bytes) { return (uint64_t{1} << kBeginBits) + bytes / kUnit; }

// Returns how many slots are needed: for all chunks that fit in the ring, for one chunk of each
// owner that waits for room, and for the watermarks.
uint64_t slot_count(uint64_t ring_bytes, uint64_t chunk_bytes, uint32_t owners) {
  const uint64_t least = std::max(chunk_bytes, 2 * kLeastRecordBytes) - kLeastRecordBytes;
  return std::bit_ceil(ring_bytes / least + owners + kWatermarks);
}

}  // namespace

void ChunkOwner::begin() {
  platform::SpinWait wait;
  uint32_t state = state_.load(platform::memory_order_acquire);
  LJ_ASSERT_IN_TESTS(state != kBusy);
  while (state == kTaken ||
         !state_.compare_exchange_weak(state, kBusy, platform::memory_order_acquire)) {
    wait.once();
    state = state_.load(platform::memory_order_acquire);
  }
}

BufferChunks::BufferChunks(Stream& stream, uint64_t run, uint32_t owners, ChunkLength::Rule rule)
    : stream_(stream),
      run_(run),
      owners_(owners),
      length_(stream.ring().capacity(), owners, rule),
      slot_mask_(slot_count(stream.ring().capacity(), length_.least(), owners) - 1),
      slots_(std::make_unique<BufferChunk[]>(slot_mask_ + 1)) {
  LJ_ASSERT(slot_mask_ < kMostSlots);  // a number of `next_` names one slot
}

BufferChunks::Place BufferChunks::reserve(ChunkOwner& owner, uint32_t worker, uint32_t bytes) {
  owner.begin();
  const uint64_t boundary = boundary_.load(platform::memory_order_relaxed);
  if (owner.chunk != nullptr && (owner.chunk->begin < boundary || !fits(owner, bytes))) {
    hand_over(owner);
  }
  if (owner.filled.boundary != boundary) {
    length_.begin_interval(owner.filled, boundary, platform::ticks());
  }
  const uint64_t waited = owner.chunk == nullptr ? deal(owner, worker, bytes) : 0;
  return {owner.used, waited};
}

void BufferChunks::publish(ChunkOwner& owner, uint32_t bytes, uint64_t sequence) {
  owner.used += bytes;
  LJ_ASSERT_IN_TESTS(owner.used <= owner.chunk->end && sequence >= owner.sequence);
  owner.sequence = sequence;
  owner.filled.bytes += bytes;
  if (owner.used == owner.chunk->end) hand_over(owner);
  owner.end();
}

bool BufferChunks::append_watermark(uint64_t sequence) {
  constexpr uint64_t kBytes = sizeof(RecordHeader);
  uint64_t next = next_.load(platform::memory_order_relaxed);
  do {
    if (slot(number_of(next)).dealt.load(platform::memory_order_relaxed)) return false;
  } while (!next_.compare_exchange_weak(next, next + step(kBytes), platform::memory_order_release,
                                        platform::memory_order_relaxed));
  BufferChunk& chunk = place(next, kBytes, 0, true);
  chunk.sequence = sequence;
  boundary_.store(chunk.end, platform::memory_order_relaxed);
  chunk.done.store(true, platform::memory_order_release);
  return true;
}

bool BufferChunks::write_watermark(const BufferChunk& chunk) {
  if (!stream_.ring().fits(chunk.end)) return false;
  write_empty(RecordKind::kWatermark, chunk.sequence, chunk.begin, chunk.end - chunk.begin);
  return true;
}

bool BufferChunks::many_wait() const {
  const uint64_t next = number_of(next_.load(platform::memory_order_relaxed));
  const uint64_t passed = passed_.load(platform::memory_order_relaxed);
  return ((next - passed) & (kMostSlots - 1)) >= owners_ + kManyChunks;
}

uint64_t BufferChunks::dealt() const {
  return begin_of(next_.load(platform::memory_order_relaxed));
}

// Returns whether the rest of the chunk, after a record of `bytes`, is either empty or large enough
// for a padding record.
bool BufferChunks::fits(const ChunkOwner& owner, uint64_t bytes) const {
  const uint64_t end = owner.used + bytes;
  return end == owner.chunk->end || end + kLeastRecordBytes <= owner.chunk->end;
}

uint64_t BufferChunks::deal(ChunkOwner& owner, uint32_t worker, uint64_t bytes) {
  const uint64_t length = length_.next(owner.filled);
  const uint64_t size = bytes + kLeastRecordBytes <= length ? length : bytes;
  const uint64_t next = next_.fetch_add(step(size), platform::memory_order_acquire);
  owner.chunk = &place(next, size, worker, false);
  owner.used = owner.chunk->begin;
  return stream_.wait_for_space(owner.chunk->end);
}

BufferChunk& BufferChunks::place(uint64_t next, uint64_t bytes, uint32_t worker, bool watermark) {
  BufferChunk& chunk = slot(number_of(next));
  platform::SpinWait wait;
  while (chunk.dealt.load(platform::memory_order_acquire)) wait.once();
  chunk.begin = begin_of(next);
  chunk.end = chunk.begin + bytes;
  LJ_ASSERT(chunk.end < kMostStreamBytes);  // 2 PiB
  chunk.owner = worker;
  chunk.watermark = watermark;
  chunk.done.store(false, platform::memory_order_relaxed);
  chunk.dealt.store(true, platform::memory_order_release);
  return chunk;
}

void BufferChunks::hand_over(ChunkOwner& owner) {
  BufferChunk& chunk = *owner.chunk;
  LJ_ASSERT(owner.used == chunk.end || owner.used + kLeastRecordBytes <= chunk.end);
  if (owner.used != chunk.end) {
    write_empty(RecordKind::kPadding, 0, owner.used, chunk.end - owner.used);
    owner.padding_bytes.add(chunk.end - owner.used);
  }
  chunk.sequence = owner.sequence;
  owner.chunk = nullptr;
  chunk.done.store(true, platform::memory_order_release);
}

void BufferChunks::write_empty(RecordKind kind, uint64_t sequence, uint64_t begin, uint64_t bytes) {
  const LogReservation hole{.sequence = sequence,
                            .position = begin,
                            .durable = stream_.durable(),
                            .hole = stream_.at(begin, bytes),
                            .bytes = static_cast<uint32_t>(bytes)};
  RecordWriter(hole, kind, 0).seal(run_, begin);
}

}  // namespace logjam
