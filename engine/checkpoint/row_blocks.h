// The blocks of a checkpoint's file of rows.
//
//   file  := block*, then padding up to a multiple of 4096
//   block := BlockHeader, tuple*
//   tuple := key (8 bytes), version word (8 bytes), and the row, padded to 8 bytes, unless the
//            version says that the tuple is absent (a tombstone)
//
// All tuples of a block are of one table. The checksum is XXH3-64 of the block without the field
// `checksum`, seeded with the checkpoint's id and the block's offset. Numbers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "engine/storage/database.h"
#include "logging/format/device_pace.h"

namespace logjam {

struct BlockHeader {
  uint64_t checksum;
  uint32_t bytes;  // of the block, this header included
  uint32_t tuples;
  uint16_t table;
  uint16_t part;    // the file has part `part` of each table
  uint32_t unused;  // 0
};
static_assert(sizeof(BlockHeader) == 24);

inline constexpr uint64_t kMostBlockBytes = uint64_t{1} << 20;

// Returns the value of Checkpoint::tables for `database`.
std::string describe_tables(Database& database);

uint64_t block_checksum(const BlockHeader& block, uint64_t id, uint64_t offset);

struct SavedTuple {
  Key key;
  uint64_t version;

  std::byte* row() { return reinterpret_cast<std::byte*>(this + 1); }
  const std::byte* row() const { return reinterpret_cast<const std::byte*>(this + 1); }
};

// A file of rows, as the manifest describes it.
struct RowFile {
  std::string path;
  uint64_t id = 0;     // the checkpoint's id
  uint64_t bytes = 0;  // without the padding at the end
  uint16_t part = 0;
};

inline constexpr std::string_view kCannotRead = "cannot read ";
// Calls `visit` for each block of the file, in order; the block is valid during the call. If
// `visit` returns an error, stops and returns this error. Otherwise returns an empty string, or one
// sentence about damage. The sentence begins with kCannotRead if the file cannot be read.
std::string read_blocks(const RowFile& file, DevicePace* pace,
                        const std::function<std::string(const BlockHeader&)>& visit);

}  // namespace logjam
