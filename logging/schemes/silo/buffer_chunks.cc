#include "logging/schemes/silo/buffer_chunks.h"

#include <glog/logging.h>

#include <algorithm>
#include <bit>

#include "logging/format/record_writer.h"

namespace logjam {
namespace {

constexpr uint64_t kLeastRecordBytes = sizeof(RecordHeader);
constexpr uint64_t kChunkBytes = uint64_t{32} << 10;
constexpr uint64_t kLeastChunkBytes = 256;
constexpr uint64_t kLeastChunks = 2, kMostChunks = 64;  // from one boundary to the next
// How long a worker fills a chunk, at least, with few owners and for each owner more.
constexpr double kChunkNs = 16e3, kChunkNsOfOwner = 600;
constexpr uint64_t kChunksOfRing = 4;      // the least chunks of the ring for each owner
constexpr uint64_t kMostOfRing = 1 << 15;  // the most chunks of the ring, about
constexpr uint64_t kMostShort = 1 << 16;   // and if they are short
constexpr uint64_t kWatermarks = 8;        // slots for watermarks that were not passed yet

// `next_`: the upper bits are a number, which may begin again; the lower bits count kUnit bytes, of
// which the length of each record is a multiple.
constexpr int kBeginBits = 46;
constexpr uint64_t kUnit = 8;
constexpr uint64_t kMostStreamBytes = kUnit << kBeginBits;
constexpr uint64_t kMostSlots = uint64_t{1} << (64 - kBeginBits);

uint64_t number_of(uint64_t next) { return next >> kBeginBits; }
uint64_t begin_of(uint64_t next) { return next * kUnit % kMostStreamBytes; }
// Returns the amount that a chunk of `bytes` adds to `next_`.
uint64_t step(uint64_t bytes) { return (uint64_t{1} << kBeginBits) + bytes / kUnit; }

uint64_t most_bytes(uint64_t ring_bytes, uint32_t owners) {
  const uint64_t most = ring_bytes / (kChunksOfRing * (owners + 1));
  return std::min(std::max(kChunkBytes, ring_bytes / kMostOfRing), most) & ~(kUnit - 1);
}

uint64_t least_bytes(uint64_t ring_bytes, uint32_t owners, BufferChunks::Length length) {
  const uint64_t most = most_bytes(ring_bytes, owners);
  if (length == BufferChunks::Length::kFixed) return most;
  return std::min(std::max(kLeastChunkBytes, ring_bytes / kMostShort), most) & ~(kUnit - 1);
}

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
  while (state == kTaken ||
         !state_.compare_exchange_weak(state, kBusy, platform::memory_order_acquire)) {
    wait.once();
    state = state_.load(platform::memory_order_acquire);
  }
}

Counters padding_of(const WorkerStates<ChunkOwner>& owners) {
  const uint64_t bytes =
      owners.sum([](const ChunkOwner& owner) { return owner.padding_bytes.value(); });
  return {{"padding_bytes", static_cast<double>(bytes)}};
}

BufferChunks::BufferChunks(Stream& stream, uint64_t run, uint32_t owners, Length length)
    : stream_(stream),
      run_(run),
      owners_(owners),
      chunk_ticks_(platform::ns_to_ticks(kChunkNs + kChunkNsOfOwner * owners)),
      least_bytes_(least_bytes(stream.ring().capacity(), owners, length)),
      most_bytes_(length == BufferChunks::Length::kRecord
                      ? least_bytes_
                      : most_bytes(stream.ring().capacity(), owners)),
      slot_mask_(slot_count(stream.ring().capacity(), least_bytes_, owners) - 1),
      slots_(std::make_unique<BufferChunk[]>(slot_mask_ + 1)) {
  CHECK_LT(slot_mask_, kMostSlots) << "a number of `next_` must name one slot";
}

BufferChunks::Place BufferChunks::reserve(ChunkOwner& owner, uint32_t worker, uint32_t bytes) {
  owner.begin();
  const uint64_t boundary = boundary_.load(platform::memory_order_relaxed);
  if (owner.chunk != nullptr && (owner.chunk->begin < boundary || !fits(owner, bytes))) {
    hand_over(owner);
  }
  adapt(owner, boundary);
  const uint64_t waited = owner.chunk == nullptr ? deal(owner, worker, bytes) : 0;
  return {owner.used, waited};
}

void BufferChunks::publish(ChunkOwner& owner, uint32_t bytes, uint64_t sequence) {
  owner.used += bytes;
  owner.sequence = sequence;
  owner.filled_bytes += bytes;
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

void BufferChunks::adapt(ChunkOwner& owner, uint64_t boundary) const {
  uint64_t share = owner.filled_bytes / owner.chunks;
  if (owner.boundary != boundary) {
    const uint64_t now = platform::ticks();
    owner.chunks =
        std::clamp((now - owner.boundary_since) / chunk_ticks_, kLeastChunks, kMostChunks);
    share = owner.filled_bytes / owner.chunks;
    owner.boundary = boundary;
    owner.boundary_since = now;
    owner.filled_bytes = 0;
    owner.chunk_bytes = 0;
  }
  share &= ~(kUnit - 1);
  owner.chunk_bytes = std::clamp(std::max(owner.chunk_bytes, share), least_bytes_, most_bytes_);
}

uint64_t BufferChunks::deal(ChunkOwner& owner, uint32_t worker, uint64_t bytes) {
  const uint64_t size = bytes + kLeastRecordBytes <= owner.chunk_bytes ? owner.chunk_bytes : bytes;
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
  CHECK_LT(chunk.end, kMostStreamBytes) << "a stream of buffer chunks ends at 2 PiB";
  chunk.owner = worker;
  chunk.watermark = watermark;
  chunk.done.store(false, platform::memory_order_relaxed);
  chunk.dealt.store(true, platform::memory_order_release);
  return chunk;
}

void BufferChunks::hand_over(ChunkOwner& owner) {
  BufferChunk& chunk = *owner.chunk;
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
