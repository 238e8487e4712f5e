#include "sim/machine/block_costs.h"

#include <elf.h>
#include <sys/auxv.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "platform/fatal.h"

namespace logjam::sim {

uint64_t blocks_begin = 0, blocks_bytes = 0;

namespace {

// The first bytes of the file that scripts/block_costs.py writes.
struct Header {
  char magic[8];
  uint64_t text_begin, text_bytes, binary_bytes, build_id;
};
constexpr char kMagic[] = "LJBLOCK1";

// Returns the first eight bytes of this program's build id; 0 if it has none.
uint64_t own_build_id() {
  const auto* header = reinterpret_cast<const Elf64_Phdr*>(getauxval(AT_PHDR));
  for (uint64_t left = getauxval(AT_PHNUM); left > 0; --left, ++header) {
    if (header->p_type != PT_NOTE) continue;
    const auto* at = reinterpret_cast<const char*>(header->p_vaddr);
    const char* end = at + header->p_memsz;
    while (at < end) {
      Elf64_Nhdr note;
      std::memcpy(&note, at, sizeof note);
      const char* name = at + sizeof note;
      const char* value = name + (note.n_namesz + 3) / 4 * 4;
      if (note.n_type == NT_GNU_BUILD_ID && std::string(name) == "GNU") {
        uint64_t id = 0;
        std::memcpy(&id, value, sizeof id);
        return id;
      }
      at = value + (note.n_descsz + 3) / 4 * 4;
    }
  }
  return 0;
}

}  // namespace

void read_block_costs() {
  const std::string path = std::filesystem::read_symlink("/proc/self/exe").string() + ".blocks";
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  Header header{};
  if (bytes.size() >= sizeof header) std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof header.magic) != 0 ||
      bytes.size() != sizeof header + header.text_bytes || header.build_id != own_build_id()) {
    platform::refuse(path + " does not have the costs of this program's basic blocks; make sim " +
                     "writes them");
  }
  blocks_begin = header.text_begin;
  blocks_bytes = header.text_bytes;
  auto* costs = static_cast<char*>(map_at(kBlockCosts, kStaticEnd));
  std::memcpy(costs + blocks_begin, bytes.data() + sizeof header, blocks_bytes);
}

}  // namespace logjam::sim
