#include "logging/buffer/buffer_chunks.h"

#include <algorithm>

namespace logjam {
namespace {

constexpr uint64_t kLeastRecordBytes = sizeof(RecordHeader);

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

BufferChunks::BufferChunks(Stream& stream, uint64_t run, uint32_t owners)
    : stream_(stream),
      run_(run),
      chunk_bytes_(std::min(
          kChunkBytes, stream.ring().capacity() / (kChunksOfRing * (owners + 1)) & ~uint64_t{7})),
      latch_(owners) {}

uint64_t BufferChunks::reserve(ChunkOwner& owner, uint32_t worker, uint32_t bytes) {
  owner.begin();
  if (owner.chunk != nullptr) {
    const bool before_watermark =
        owner.chunk->begin < watermark_end_.load(platform::memory_order_relaxed);
    if (before_watermark || !fits(owner, bytes)) hand_over(owner);
  }
  if (owner.chunk == nullptr) deal(owner, worker, bytes);
  return owner.used;
}

void BufferChunks::publish(ChunkOwner& owner, uint32_t bytes) {
  owner.used += bytes;
  if (owner.used == owner.chunk->end) hand_over(owner);
  owner.end();
}

bool BufferChunks::append_watermark(uint64_t sequence) {
  if (!stream_.ring().fits(end_ + kLeastRecordBytes)) return false;
  write_empty(RecordKind::kWatermark, sequence, end_, kLeastRecordBytes);
  BufferChunk& chunk = chunks_.emplace_back(end_, end_ + kLeastRecordBytes, 0, sequence);
  end_ = chunk.end;
  hand_over(chunk);
  watermark_end_.store(end_, platform::memory_order_relaxed);
  return true;
}

// After the record, the rest of the chunk is either empty or large enough for a padding record.
bool BufferChunks::fits(const ChunkOwner& owner, uint64_t bytes) const {
  const uint64_t end = owner.used + bytes;
  return end == owner.chunk->end || end + kLeastRecordBytes <= owner.chunk->end;
}

void BufferChunks::deal(ChunkOwner& owner, uint32_t worker, uint64_t bytes) {
  const uint64_t size = bytes + kLeastRecordBytes <= chunk_bytes_ ? chunk_bytes_ : bytes;
  stream_.lock_with_space(latch_, end_, size);
  owner.chunk = &chunks_.emplace_back(end_, end_ + size, worker, 0);
  owner.used = end_;
  end_ += size;
  latch_.unlock();
}

void BufferChunks::hand_over(ChunkOwner& owner) {
  BufferChunk& chunk = *owner.chunk;
  if (owner.used != chunk.end) {
    write_empty(RecordKind::kPadding, 0, owner.used, chunk.end - owner.used);
    padding_bytes_.fetch_add(chunk.end - owner.used, platform::memory_order_relaxed);
  }
  owner.chunk = nullptr;
  hand_over(chunk);
}

void BufferChunks::write_empty(RecordKind kind, uint64_t sequence, uint64_t begin, uint64_t bytes) {
  const LogReservation hole{.sequence = sequence,
                            .position = begin,
                            .durable = stream_.durable(),
                            .hole = stream_.at(begin),
                            .bytes = static_cast<uint32_t>(bytes)};
  RecordWriter(hole, kind, 0).seal(run_, begin);
}

void BufferChunks::hand_over(BufferChunk& chunk) {
  chunk.done.store(true, platform::memory_order_release);
  done_.fetch_add(1, platform::memory_order_release);
}

}  // namespace logjam
