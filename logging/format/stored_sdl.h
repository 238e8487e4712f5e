// SDL as a scheme may store it on the device (ELEDA, section 4.3): the position up to which a
// stream is durable, in the last 16 bytes of the header block of the stream's first file.
//
//   8 bytes   SDL
//   8 bytes   XXH3-64 of these, seeded with the run
//
// The block is written again as a whole. A device that loses power leaves each of its sectors as it
// was, or as it should be, and the text of the header is the same in both. So a torn write can
// only lose the SDL, and then nothing vouches for the end of the log. Any thread may call any
// function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace logjam {

inline constexpr uint64_t kStoredSdlBytes = 16;

// Puts the SDL of `run` into a header block, of kLogHeaderBytes bytes.
void put_stored_sdl(std::span<std::byte> block, uint64_t run, uint64_t sdl);
// Returns the SDL in a header block, or 0 if the block has none of `run`.
uint64_t stored_sdl(std::span<const std::byte> block, uint64_t run);

}  // namespace logjam
