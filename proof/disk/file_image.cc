#include "proof/disk/file_image.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace logjam {

void change_byte(FileImage* image, uint64_t at, std::byte mask) {
  const SectorPointer old = image->sector(at / kSectorBytes);
  Sector sector = old == nullptr ? Sector{} : *old;
  sector[at % kSectorBytes] ^= mask;
  image->set_sector(at / kSectorBytes, share(sector));
}

SectorPointer share(const Sector& sector) {
  static constexpr Sector kZeros{};
  if (std::memcmp(sector.data(), kZeros.data(), kSectorBytes) == 0) return nullptr;
  return std::make_shared<const Sector>(sector);
}

bool same_bytes(const SectorPointer& one, const SectorPointer& other) {
  return one == other || (one != nullptr && other != nullptr && *one == *other);
}

SectorPointer cut_sector(const SectorPointer& sector, uint64_t bytes) {
  if (sector == nullptr || bytes == 0) return nullptr;
  Sector cut{};
  std::copy_n(sector->begin(), bytes, cut.begin());
  return share(cut);
}

SectorPointer FileImage::sector(uint64_t index) const {
  if (const auto at = changed_.find(index); at != changed_.end()) return at->second;
  const auto at = shared_->find(index);
  return at == shared_->end() ? nullptr : at->second;
}

void FileImage::set_sector(uint64_t index, SectorPointer sector) {
  constexpr size_t kMostChanged = 256;  // so that a copy of the image is cheap
  changed_[index] = std::move(sector);
  if (changed_.size() <= kMostChanged) return;
  auto merged = std::make_shared<Sectors>(*shared_);
  for (auto& [changed, to] : changed_) {
    if (to == nullptr) {
      merged->erase(changed);
    } else {
      (*merged)[changed] = std::move(to);
    }
  }
  changed_.clear();
  shared_ = std::move(merged);
}

void FileImage::resize(uint64_t bytes) {
  const uint64_t whole = bytes / kSectorBytes;
  for (const uint64_t index : filled_from(whole)) {
    const uint64_t keeps = index == whole ? bytes % kSectorBytes : 0;
    set_sector(index, cut_sector(sector(index), keeps));
  }
  bytes_ = bytes;
}

std::vector<uint64_t> FileImage::filled_from(uint64_t first) const {
  std::set<uint64_t> filled;
  for (auto at = shared_->lower_bound(first); at != shared_->end(); ++at) filled.insert(at->first);
  for (auto at = changed_.lower_bound(first); at != changed_.end(); ++at) {
    if (at->second == nullptr) {
      filled.erase(at->first);
    } else {
      filled.insert(at->first);
    }
  }
  return {filled.begin(), filled.end()};
}

}  // namespace logjam
