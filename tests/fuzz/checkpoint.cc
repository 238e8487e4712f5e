// The files of a checkpoint, read into tables.
//
//   input := numbers (24 bytes), the bytes of the file
#include <cstring>

#include "engine/checkpoint/load_checkpoint.h"
#include "engine/checkpoint/row_blocks.h"
#include "tests/fuzz/byte_files.h"
#include "tests/fuzz/tables.h"
#include "tests/fuzz/target.h"

namespace logjam::fuzz {
namespace {

constexpr uint64_t kId = 0x5678;
constexpr size_t kNumbers = 24, kMostBytes = 2048;

void read_row_blocks(Input input) {
  ByteFiles disk;
  disk.add("f", {input.begin(), input.end()});
  const platform::ReplaceFiles replace(disk);
  uint64_t visited = 0;
  const auto visit = [&](const BlockHeader& block) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&block);
    for (uint32_t i = 0; i < block.bytes; ++i) visited += bytes[i] != 0 ? 1 : 0;
    return std::string();
  };
  if (read_blocks({.path = "f", .id = kId, .bytes = input.size()}, nullptr, visit).empty()) {
    require(visited <= input.size(), "blocks do not overlap");
  }
}

void load_rows(Input input) {
  Parts parts(input);
  Checkpoint checkpoint;
  checkpoint.number = 1;
  checkpoint.id = kId;
  CheckpointFile& file = checkpoint.files.emplace_back();
  file.name = "rows-0";
  file.rows = parts.number(8);
  file.tombstones = parts.number(8);
  file.bytes = parts.number(8);
  ByteFiles disk;
  disk.add("d/checkpoint-1/rows-0", {parts.rest().begin(), parts.rest().end()});
  const platform::ReplaceFiles replace(disk);
  Database database;
  create_tables(database);
  checkpoint.tables = describe_tables(database);
  const LoadResult loaded = load_checkpoint(database, {"d"}, checkpoint);
  if (!loaded.error.empty()) return;
  uint64_t rows = 0;
  for (const auto& table : database.tables()) rows += table->count_rows();
  require(rows == loaded.rows, "the tables have the rows that were loaded");
}

// Gives the blocks from `begin` on their checksums, as far as their lengths lead.
void mend_blocks(std::vector<std::byte>& input, size_t begin) {
  for (size_t at = begin; at + sizeof(BlockHeader) <= input.size();) {
    BlockHeader header;
    std::memcpy(&header, &input[at], sizeof header);
    if (header.bytes < sizeof header || header.bytes > input.size() - at) return;
    std::vector<uint64_t> words(header.bytes / sizeof(uint64_t) + 1);
    std::memcpy(words.data(), &input[at], header.bytes);
    const auto* block = reinterpret_cast<const BlockHeader*>(words.data());
    const uint64_t checksum = block_checksum(*block, kId, at - begin);
    std::memcpy(&input[at], &checksum, sizeof checksum);
    at += header.bytes;
  }
}

void mend_file(std::vector<std::byte>& input, platform::SplitMix64&) { mend_blocks(input, 0); }

// Mostly lets the file be as long as the manifest says.
void mend_checkpoint(std::vector<std::byte>& input, platform::SplitMix64& random) {
  if (input.size() < kNumbers) return;
  const uint64_t bytes = input.size() - kNumbers;
  if (random.next() % 4 != 0) std::memcpy(&input[16], &bytes, sizeof bytes);
  mend_blocks(input, kNumbers);
}

const FuzzRegistration registration(
    {.name = "row-blocks", .most_bytes = kMostBytes, .run = read_row_blocks, .mend = mend_file});
const FuzzRegistration load_registration(
    {.name = "checkpoint", .most_bytes = kMostBytes, .run = load_rows, .mend = mend_checkpoint});

}  // namespace
}  // namespace logjam::fuzz
