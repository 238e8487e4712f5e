#include "sim/machine/block_costs.h"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "platform/assert.h"
#include "platform/fatal.h"
#include "sim/machine/charge.h"

extern "C" void __sanitizer_cov_trace_pc();

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

// Charges the running fiber for a block of `cost` instructions.
template <uint64_t cost>
void charge_block() {
  instructions(cost);
}
template <size_t... costs>
constexpr std::array<void (*)(), sizeof...(costs)> charges(std::index_sequence<costs...>) {
  return {charge_block<costs>...};
}
constexpr auto kCharges = charges(std::make_index_sequence<256>());  // by cost

// Makes the blocks' calls of the hook calls of charge_block(). A hook that every block calls would
// look up the price in a table as large as the program's code. Blocks without a price, and jumps to
// the hook, keep the hook, which charges nothing.
void fold_into_calls(const uint8_t* costs) {
  constexpr uint64_t kCallBytes = 5;  // 0xe8, and the distance to the called function
  const uint64_t end = blocks_begin + blocks_bytes, page = blocks_begin / kPageBytes * kPageBytes;
  auto* code = reinterpret_cast<uint8_t*>(page);
  if (mprotect(code, end - page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return;
  for (uint64_t site = blocks_begin + kCallBytes; site < end; ++site) {
    if (costs[site] == 0) continue;
    auto* call = reinterpret_cast<uint8_t*>(site - kCallBytes);
    const auto distance_to = [site](void (*function)()) {
      return static_cast<int32_t>(reinterpret_cast<uint64_t>(function) - site);
    };
    int32_t distance = 0;
    std::memcpy(&distance, call + 1, sizeof distance);
    LJ_ASSERT(*call == 0xe8 && distance == distance_to(&__sanitizer_cov_trace_pc));
    distance = distance_to(kCharges[costs[site]]);
    std::memcpy(call + 1, &distance, sizeof distance);
  }
  mprotect(code, end - page, PROT_READ | PROT_EXEC);
}

}  // namespace

void read_block_costs(bool fold) {
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
  auto* costs = static_cast<uint8_t*>(map_at(kBlockCosts, kStaticEnd));
  std::memcpy(costs + blocks_begin, bytes.data() + sizeof header, blocks_bytes);
  if (fold) fold_into_calls(costs);
}

}  // namespace logjam::sim
