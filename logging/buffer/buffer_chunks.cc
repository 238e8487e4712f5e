#include "logging/buffer/buffer_chunks.h"

#include <algorithm>
#include <memory>

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

BufferChunks::~BufferChunks() {
  while (first_ != nullptr) {
    BufferChunk* const next = first_->next.load(platform::memory_order_relaxed);
    delete first_;
    first_ = next;
  }
}

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
  auto chunk = std::make_unique<BufferChunk>();
  chunk->watermark = sequence;
  latch_.lock();
  const bool fits = stream_.ring().fits(end_ + kLeastRecordBytes);
  if (fits) {
    append(chunk.get(), kLeastRecordBytes);
    watermark_end_.store(end_, platform::memory_order_relaxed);
  }
  latch_.unlock();
  if (!fits) return false;
  write_empty(RecordKind::kWatermark, sequence, chunk->begin, kLeastRecordBytes);
  hand_over(*chunk.release());
  return true;
}

// After the record, the rest of the chunk is either empty or large enough for a padding record.
bool BufferChunks::fits(const ChunkOwner& owner, uint64_t bytes) const {
  const uint64_t end = owner.used + bytes;
  return end == owner.chunk->end || end + kLeastRecordBytes <= owner.chunk->end;
}

void BufferChunks::deal(ChunkOwner& owner, uint32_t worker, uint64_t bytes) {
  const uint64_t size = bytes + kLeastRecordBytes <= chunk_bytes_ ? chunk_bytes_ : bytes;
  owner.chunk = new BufferChunk;
  owner.chunk->owner = worker;
  stream_.lock_with_space(latch_, end_, size);
  append(owner.chunk, size);
  latch_.unlock();
  owner.used = owner.chunk->begin;
}

void BufferChunks::append(BufferChunk* chunk, uint64_t bytes) {
  chunk->begin = end_;
  end_ += bytes;
  chunk->end = end_;
  last_->next.store(chunk, platform::memory_order_release);
  last_ = chunk;
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

// The count comes first. Otherwise a chunk might be passed before it is counted, and for a moment
// more chunks than there are would seem to wait. The chunk may be gone when it is done.
void BufferChunks::hand_over(BufferChunk& chunk) {
  done_.fetch_add(1, platform::memory_order_release);
  chunk.done.store(true, platform::memory_order_release);
}

}  // namespace logjam
