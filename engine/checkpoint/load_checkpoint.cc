#include "engine/checkpoint/load_checkpoint.h"

#include "engine/checkpoint/row_blocks.h"
#include "platform/clock.h"
#include "platform/fatal.h"
#include "platform/thread.h"

namespace logjam {
namespace {

struct Loaded {
  std::string wrong;  // one sentence, or empty
  uint64_t rows = 0, tombstones = 0;
};

Loaded load_file(Database& database, const RowFile& file, DevicePace* pace) {
  Loaded loaded;
  Arena arena;
  const auto load_block = [&](const BlockHeader& block) -> std::string {
    Table* table = database.table(block.table);
    const auto contradicts = [&] { return file.path + " contradicts itself or the workload"; };
    if (table == nullptr) return contradicts();
    const uint64_t row_bytes = (uint64_t{table->row_bytes()} + 7) / 8 * 8;
    const auto* at = reinterpret_cast<const std::byte*>(&block + 1);
    const std::byte* const end = reinterpret_cast<const std::byte*>(&block) + block.bytes;
    for (uint32_t i = 0; i < block.tuples; ++i) {
      const auto* saved = reinterpret_cast<const SavedTuple*>(at);
      if (static_cast<size_t>(end - at) < sizeof *saved) return contradicts();
      const Version version(saved->version);
      const uint64_t bytes = sizeof *saved + (version.absent() ? 0 : row_bytes);
      if (static_cast<size_t>(end - at) < bytes || version.locked()) return contradicts();
      if (!table->restore(saved->key, version, version.absent() ? nullptr : saved->row(), arena)) {
        return file.path + " has key " + std::to_string(saved->key) + " of table " +
               table->schema().name + " a second time";
      }
      ++(version.absent() ? loaded.tombstones : loaded.rows);
      at += bytes;
    }
    return at == end ? "" : contradicts();
  };
  loaded.wrong = read_blocks(file, pace, load_block);
  return loaded;
}

}  // namespace

LoadResult load_checkpoint(Database& database, const std::vector<std::string>& directories,
                           const Checkpoint& checkpoint, double read_bytes_per_second) {
  LoadResult result;
  const uint64_t start = platform::now_ns();
  const std::vector<std::string> paths = paths_of(directories, checkpoint, &result.error);
  if (!result.error.empty()) return result;
  const std::string tables = describe_tables(database);
  if (tables != checkpoint.tables) {
    result.error = checkpoint.name() + " has the tables " + checkpoint.tables +
                   ", and this workload has " + tables;
    return result;
  }
  DevicePaces all_paces(read_bytes_per_second);
  const std::vector<DevicePace*> paces = all_paces.of(paths);
  std::vector<Loaded> loaded(paths.size());
  std::vector<platform::thread> loaders;
  for (size_t i = 0; i < paths.size(); ++i) {
    loaders.emplace_back([&, i] {
      const CheckpointFile& file = checkpoint.files[i];
      Loaded& one = loaded[i];
      one = load_file(database,
                      {.path = paths[i],
                       .id = checkpoint.id,
                       .bytes = file.bytes,
                       .part = static_cast<uint16_t>(i)},
                      paces.empty() ? nullptr : paces[i]);
      // The file may still be intact, so do not fall back to an older checkpoint.
      if (one.wrong.starts_with(kCannotRead)) platform::fail(checkpoint.name() + ": " + one.wrong);
      if (one.wrong.empty() && (file.rows != one.rows || file.tombstones != one.tombstones)) {
        one.wrong = paths[i] + " has " + std::to_string(one.rows) + " rows, and " +
                    std::to_string(file.rows) + " were written";
      }
    });
  }
  for (platform::thread& loader : loaders) loader.join();
  for (size_t i = 0; i < paths.size(); ++i) {
    if (!loaded[i].wrong.empty() && result.error.empty()) {
      result.error = checkpoint.name() + " cannot be used: " + loaded[i].wrong;
      result.corrupt = true;
    }
    result.rows += loaded[i].rows;
    result.tombstones += loaded[i].tombstones;
    result.bytes += checkpoint.files[i].bytes;
  }
  result.seconds = static_cast<double>(platform::now_ns() - start) * 1e-9;
  return result;
}

}  // namespace logjam
