#include "logging/format/stored_sdl.h"

#include <xxhash.h>

#include <cstring>

namespace logjam {
namespace {

uint64_t checksum_of(uint64_t sdl, uint64_t run) {
  return XXH3_64bits_withSeed(&sdl, sizeof sdl, run);
}

}  // namespace

void put_stored_sdl(std::span<std::byte> block, uint64_t run, uint64_t sdl) {
  const uint64_t words[] = {sdl, checksum_of(sdl, run)};
  static_assert(sizeof words == kStoredSdlBytes);
  std::memcpy(block.last(kStoredSdlBytes).data(), words, sizeof words);
}

uint64_t stored_sdl(std::span<const std::byte> block, uint64_t run) {
  uint64_t words[2];
  std::memcpy(words, block.last(kStoredSdlBytes).data(), sizeof words);
  return words[1] == checksum_of(words[0], run) ? words[0] : 0;
}

}  // namespace logjam
