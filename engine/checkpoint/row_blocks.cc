#include "engine/checkpoint/row_blocks.h"

#include <fcntl.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "platform/files.h"
#include "platform/random.h"
#include "platform/text.h"

namespace logjam {
namespace {

constexpr uint64_t kReadBytes = uint64_t{4} << 20;

// An open file, or -errno.
struct OpenFile {
  explicit OpenFile(const std::string& path) : number(platform::files().open(path, O_RDONLY)) {}
  ~OpenFile() {
    if (number >= 0) platform::files().close(number);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  const int number;
};

}  // namespace

std::string describe_tables(Database& database) {
  return platform::join(database.tables(), " ", [](const auto& table) {
    return table->schema().name + ":" + std::to_string(table->row_bytes());
  });
}

uint64_t block_checksum(const BlockHeader& block, uint64_t id, uint64_t offset) {
  return XXH3_64bits_withSeed(&block.bytes, block.bytes - sizeof block.checksum,
                              id + offset * platform::kGoldenRatio);
}

std::string read_blocks(const RowFile& file, DevicePace* pace,
                        const std::function<std::string(const BlockHeader&)>& visit) {
  const OpenFile in(file.path);
  const auto unreadable = [&](int error) {
    return std::string(kCannotRead) + file.path + ": " + platform::error_text(error);
  };
  if (in.number < 0) return unreadable(-in.number);
  // In tests `in.number` is no descriptor of the kernel, and this call has no effect.
  posix_fadvise(in.number, 0, 0, POSIX_FADV_SEQUENTIAL);
  std::vector<uint64_t> words(std::min(kReadBytes, file.bytes) / sizeof(uint64_t) + 1);
  auto* const memory = reinterpret_cast<std::byte*>(words.data());
  uint64_t offset = 0;  // of the next block
  uint64_t have = 0;    // bytes in memory, from `offset` on
  while (offset < file.bytes) {
    const uint64_t want = std::min(kReadBytes, file.bytes - offset);
    posix_fadvise(in.number, static_cast<off_t>(offset + want), static_cast<off_t>(2 * kReadBytes),
                  POSIX_FADV_WILLNEED);
    const int64_t got = platform::read_all(in.number, offset + have, {memory + have, want - have});
    if (got < 0) return unreadable(static_cast<int>(-got));
    if (pace != nullptr) pace->transfer(static_cast<uint64_t>(got));
    have += static_cast<uint64_t>(got);
    uint64_t at = 0;
    while (have - at >= sizeof(BlockHeader)) {
      const auto& block = *reinterpret_cast<const BlockHeader*>(memory + at);
      const bool plausible = block.bytes >= sizeof block && block.bytes % 8 == 0 &&
                             block.bytes <= std::min(kReadBytes, file.bytes - offset - at);
      if (plausible && block.bytes > have - at) break;
      if (!plausible || block.part != file.part ||
          block.checksum != block_checksum(block, file.id, offset + at)) {
        return file.path + " is corrupt at byte " + std::to_string(offset + at);
      }
      if (std::string wrong = visit(block); !wrong.empty()) return wrong;
      at += block.bytes;
    }
    if (at == 0) return file.path + " ends at byte " + std::to_string(offset + have);
    std::memmove(memory, memory + at, have - at);
    offset += at;
    have -= at;
  }
  return "";
}

}  // namespace logjam
