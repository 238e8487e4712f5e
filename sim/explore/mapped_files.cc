#include "sim/explore/mapped_files.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "platform/assert.h"
#include "platform/exploration.h"
#include "platform/fatal.h"
#include "platform/files.h"
#include "sim/explore/data_races.h"
#include "sim/explore/explorer.h"
#include "sim/region.h"

namespace logjam::sim {
namespace {

struct Mapping {
  int file;
  std::byte* base;
  uint64_t most_bytes;
};

std::vector<Mapping>& mappings() {
  static auto& all = *new std::vector<Mapping>();
  return all;
}

const Mapping* mapping_of(const void* address) {
  for (const Mapping& mapping : mappings()) {
    const auto* at = static_cast<const std::byte*>(address);
    if (mapping.base <= at && at < mapping.base + mapping.most_bytes) return &mapping;
  }
  return nullptr;
}

}  // namespace

bool is_in_memory(int file) { return fcntl(file, F_GETFD) < 0 && errno == EBADF; }

int begin_mapping(int file, std::byte* base, uint64_t most_bytes) {
  uint64_t bytes = 0;
  if (const int error = platform::files().size(file, &bytes); error != 0) return error;
  const int64_t done = platform::read_all(file, 0, {base, bytes});
  if (done < 0) return static_cast<int>(-done);
  LJ_ASSERT(bytes <= most_bytes && mapping_of(base) == nullptr);
  const Unexplored free;
  mappings().push_back({file, base, most_bytes});
  return 0;
}

bool end_mapping(const std::byte* base) {
  const Unexplored free;
  return std::erase_if(mappings(), [base](const Mapping& one) { return one.base == base; }) != 0;
}

void write_back_lines(const void* address, size_t bytes) {
  const Mapping* mapping = mapping_of(address);
  if (mapping == nullptr || bytes == 0) return;
  const auto at = static_cast<uint64_t>(static_cast<const std::byte*>(address) - mapping->base);
  LJ_ASSERT(at + bytes <= mapping->most_bytes);
  const uint64_t begin = at / kLineBytes * kLineBytes,
                 end = (at + bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
  // Other threads may be storing to other bytes of the lines. That is not a data race.
  const uint32_t thread = kernel().current().id;
  if (data_races != nullptr) data_races->ignore(thread, true);
  const int error =
      platform::write_all(mapping->file, begin, {mapping->base + begin, end - begin}, true);
  if (data_races != nullptr) data_races->ignore(thread, false);
  if (error != 0) {
    platform::fatal("a mapped file cannot be written: " + std::string(strerror(error)));
  }
}

void forget_mappings() {
  const Unexplored free;
  mappings().clear();
}

}  // namespace logjam::sim

void logjam::platform::for_each_mapping(const std::function<void(int, const std::byte*)>& with) {
  for (const sim::Mapping& mapping : sim::mappings()) with(mapping.file, mapping.base);
}
