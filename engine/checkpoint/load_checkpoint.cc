#include "engine/checkpoint/load_checkpoint.h"

#include <utility>

#include "engine/checkpoint/row_blocks.h"
#include "platform/clock.h"
#include "platform/fatal.h"
#include "platform/thread.h"

namespace logjam {
namespace {

// Loads one file of rows. One thread owns it.
class FileLoader {
 public:
  explicit FileLoader(Database& database) : database_(database) {}

  // Returns an empty string, or one sentence about an error.
  std::string load(const RowFile& file, DevicePace* pace) {
    return read_blocks(file, pace,
                       [&](const BlockHeader& block) { return load_block(file.path, block); });
  }
  uint64_t rows() const { return rows_; }
  uint64_t tombstones() const { return tombstones_; }

 private:
  std::string load_block(const std::string& path, const BlockHeader& block) {
    Table* table = database_.table(block.table);
    const auto contradicts = [&] { return path + " contradicts itself or the workload"; };
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
      if (!table->restore(saved->key, version, version.absent() ? nullptr : saved->row(), arena_)) {
        return path + " has key " + std::to_string(saved->key) + " of table " +
               table->schema().name + " a second time";
      }
      ++(version.absent() ? tombstones_ : rows_);
      at += bytes;
    }
    return at == end ? "" : contradicts();
  }

  Database& database_;
  Arena arena_;
  uint64_t rows_ = 0, tombstones_ = 0;
};

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
  std::vector<std::string> wrong(paths.size());
  std::vector<std::pair<uint64_t, uint64_t>> counts(paths.size());
  const auto load_file = [&](size_t i) {
    FileLoader loader(database);
    const CheckpointFile& file = checkpoint.files[i];
    wrong[i] = loader.load({.path = paths[i],
                            .id = checkpoint.id,
                            .bytes = file.bytes,
                            .part = static_cast<uint16_t>(i)},
                           paces.empty() ? nullptr : paces[i]);
    // A file that cannot be read may still be right. So do not recover from a worse start.
    if (wrong[i].starts_with(kCannotRead)) platform::fail(checkpoint.name() + ": " + wrong[i]);
    counts[i] = {loader.rows(), loader.tombstones()};
    if (wrong[i].empty() && (file.rows != counts[i].first || file.tombstones != counts[i].second)) {
      wrong[i] = paths[i] + " has " + std::to_string(counts[i].first) + " rows, and " +
                 std::to_string(file.rows) + " were written";
    }
  };
  std::vector<platform::thread> loaders;
  for (size_t i = 0; i < paths.size(); ++i) {
    loaders.emplace_back([&load_file, i] { load_file(i); });
  }
  for (platform::thread& loader : loaders) loader.join();
  for (size_t i = 0; i < paths.size(); ++i) {
    if (!wrong[i].empty() && result.error.empty()) {
      result.error = checkpoint.name() + " cannot be used: " + wrong[i];
      result.corrupt = true;
    }
    result.rows += counts[i].first;
    result.tombstones += counts[i].second;
    result.bytes += checkpoint.files[i].bytes;
  }
  result.seconds = static_cast<double>(platform::now_ns() - start) * 1e-9;
  return result;
}

}  // namespace logjam
