#include "logging/schemes/common/chunk_length.h"

#include <algorithm>

#include "platform/clock.h"

namespace logjam {
namespace {

constexpr uint64_t kFixedBytes = uint64_t{32} << 10, kLeastBytes = 256;
constexpr uint64_t kLeastChunks = 2, kMostChunks = 64;  // from one boundary to the next
constexpr double kChunkNs = 16e3, kChunkNsOfOwner = 600;
constexpr uint64_t kChunksOfRing = 4;      // the least chunks of the ring for each owner
constexpr uint64_t kMostOfRing = 1 << 15;  // the most chunks of the ring, about
constexpr uint64_t kMostShort = 1 << 16;   // and if they are short

uint64_t in_units(uint64_t bytes) { return bytes & ~(ChunkLength::kUnit - 1); }

uint64_t longest(uint64_t ring_bytes, uint32_t owners) {
  const uint64_t most = ring_bytes / (kChunksOfRing * (owners + 1));
  return in_units(std::min(std::max(kFixedBytes, ring_bytes / kMostOfRing), most));
}

uint64_t shortest(uint64_t ring_bytes, uint32_t owners) {
  return std::min(in_units(std::max(kLeastBytes, ring_bytes / kMostShort)),
                  longest(ring_bytes, owners));
}

}  // namespace

ChunkLength::ChunkLength(uint64_t ring_bytes, uint32_t owners, Rule rule)
    : ticks_(platform::ns_to_ticks(kChunkNs + kChunkNsOfOwner * owners)),
      least_(rule == Rule::kFixed ? longest(ring_bytes, owners) : shortest(ring_bytes, owners)),
      most_(rule == Rule::kRecord ? least_ : longest(ring_bytes, owners)) {}

void ChunkLength::begin_interval(Filled& filled, uint64_t boundary, uint64_t now) const {
  const uint64_t chunks = std::clamp((now - filled.since) / ticks_, kLeastChunks, kMostChunks);
  filled = {.boundary = boundary,
            .since = now,
            .chunks = chunks,
            .length = in_units(filled.bytes / chunks)};
}

uint64_t ChunkLength::next(Filled& filled) const {
  const uint64_t share = in_units(filled.bytes / filled.chunks);
  filled.length = std::clamp(std::max(filled.length, share), least_, most_);
  return filled.length;
}

}  // namespace logjam
