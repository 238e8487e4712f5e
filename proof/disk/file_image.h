// The bytes of a file in memory, in sectors of 512 bytes that copies of the image share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace logjam {

inline constexpr uint64_t kSectorBytes = 512;
using Sector = std::array<std::byte, kSectorBytes>;
using SectorPointer = std::shared_ptr<const Sector>;  // null: zeros

// One thread at a time may use an image. Copies may be used by different threads.
class FileImage {
 public:
  uint64_t bytes() const { return bytes_; }
  // Returns how many sectors the file has, the last of which may be incomplete.
  uint64_t sectors() const { return (bytes_ + kSectorBytes - 1) / kSectorBytes; }

  SectorPointer sector(uint64_t index) const;
  void set_sector(uint64_t index, SectorPointer sector);
  // Makes the file shorter or longer. The sectors after its end become zeros; so does the rest of
  // its last sector.
  void resize(uint64_t bytes);
  // Returns the indices of all sectors from `first` on that are not zeros, in ascending order.
  std::vector<uint64_t> filled_from(uint64_t first) const;

 private:
  using Sectors = std::map<uint64_t, SectorPointer>;

  uint64_t bytes_ = 0;
  std::shared_ptr<const Sectors> shared_ = std::make_shared<Sectors>();  // never changed
  Sectors changed_;  // sectors that differ from `shared_`
};

// Changes the bits of `mask` in the byte at `at`, which is before the end.
void change_byte(FileImage* image, uint64_t at, std::byte mask);
// Returns null if the sector is zeros, otherwise a copy.
SectorPointer share(const Sector& sector);
bool same_bytes(const SectorPointer& one, const SectorPointer& other);
// Returns the sector with zeros from byte `bytes` on.
SectorPointer cut_sector(const SectorPointer& sector, uint64_t bytes);

}  // namespace logjam
