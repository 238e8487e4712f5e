#include "proof/disk/crash_states.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <set>

#include "platform/assert.h"

namespace logjam {

FileImage image_of(std::span<const std::byte> bytes) {
  FileImage image;
  image.resize(bytes.size());
  for (uint64_t at = 0; at < bytes.size(); at += kSectorBytes) {
    Sector sector{};
    std::ranges::copy(bytes.subspan(at, std::min(kSectorBytes, bytes.size() - at)), sector.begin());
    image.set_sector(at / kSectorBytes, share(sector));
  }
  return image;
}

void change_byte(FileImage* image, uint64_t at, std::byte mask) {
  LJ_ASSERT(at < image->bytes());
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
  LJ_ASSERT(bytes < kSectorBytes);
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
  constexpr size_t kMostChanged = 256;  // limits the sectors that a copy of the image copies
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
  LJ_ASSERT_IN_TESTS(filled_from(sectors()).empty());
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

namespace {

// Goes through all sequences of choices. In the first sequence every choice has index 0.
class AllChoices {
 public:
  size_t choose(size_t options) {
    if (at_ == path_.size()) path_.emplace_back(0, options);
    LJ_ASSERT(path_[at_].second == options);
    return path_[at_++].first;
  }
  // Begins the next sequence. Returns false if the current sequence is the last.
  bool next() {
    at_ = 0;
    while (!path_.empty() && path_.back().first + 1 == path_.back().second) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().first;
    return true;
  }
  // Returns the number of choices in the current sequence. The number of sequences is larger.
  size_t choices() const { return path_.size(); }

 private:
  std::vector<std::pair<size_t, size_t>> path_;  // the index of each choice, and its options
  size_t at_ = 0;
};

// Chooses at random the changes that persist in one state of the disk. In half of the states a step
// persists as a whole or not at all, in the other half by sectors. On average 8, 50 or 92 % of a
// state's changes persist.
class RandomChoices {
 public:
  RandomChoices(uint64_t seed, uint64_t number)
      : random_(seed * 0x9e3779b97f4a7c15 + number),
        torn_(random_() % 2 == 0),
        percent_(std::array{8, 50, 92}[random_() % 3]) {}

  size_t choose(std::span<const size_t> steps) {
    for (size_t index = steps.size() - 1; index > 0; --index) {
      if (persists(steps[index])) return index;
    }
    return 0;
  }

 private:
  bool persists(size_t step) {
    const auto draw = [&] { return random_() % 100 < static_cast<uint64_t>(percent_); };
    if (torn_) return draw();
    const auto [at, is_new] = persists_.try_emplace(step, false);
    if (is_new) at->second = draw();
    return at->second;
  }

  std::mt19937_64 random_;
  const bool torn_;
  const int percent_;
  std::map<size_t, bool> persists_;
};

std::string joined(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : directory + "/" + name;
}

}  // namespace

CrashDisk::CrashDisk(const CrashState& content) {
  std::map<std::string, uint64_t> inodes = {{"", kRootInode}};
  names_[kRootInode] = {};
  const auto add = [&](const std::string& path) {
    const size_t slash = path.rfind('/');
    const std::string parent = slash == path.npos ? "" : path.substr(0, slash);
    const uint64_t inode = kRootInode + inodes.size();
    inodes[path] = inode;
    names_[inodes.at(parent)][path.substr(slash == path.npos ? 0 : slash + 1)] = inode;
    return inode;
  };
  for (const std::string& path : content.directories) names_[add(path)] = {};
  for (const auto& [path, image] : content.files) files_[add(path)].durable = image;
}

void CrashDisk::take(const FileStep& step) {
  ++steps_;
  last_what_ = "step " + std::to_string(steps_) + ", " + step.what;
  switch (step.kind) {
    case FileStep::Kind::kMark:
      return marks_.push_back(step.number);
    case FileStep::Kind::kNames:
      LJ_ASSERT(!step.names.empty());
      if (step.makes_directory) {
        names_[step.names.back().inode] = {};
      } else if (step.names.back().inode != 0 && !names_.contains(step.names.back().inode)) {
        files_.try_emplace(step.names.back().inode);
      }
      return changes_.push_back({steps_, step.names});
    case FileStep::Kind::kBytes:
      return change_bytes(step);
    case FileStep::Kind::kSyncBytes:
      return sync_bytes(step);
    case FileStep::Kind::kSync:
      return sync(step.inode);
  }
}

void CrashDisk::change_bytes(const FileStep& step) {
  File& file = files_.at(step.inode);
  const uint64_t old_bytes = file.bytes();
  LJ_ASSERT(step.bytes >= old_bytes || step.sectors.empty());
  if (step.bytes != old_bytes) file.lengths.emplace_back(steps_, step.bytes);
  if (step.bytes < old_bytes) return cut(&file);
  for (const auto& [index, sector] : step.sectors) {
    auto& versions = file.sectors[index];
    LJ_ASSERT(versions.empty() || versions.back().step < steps_);
    versions.push_back({steps_, sector, false});
  }
}

// Adds a version to each sector that may have bytes after the new end of the cut file.
void CrashDisk::cut(File* file) const {
  const uint64_t first = file->bytes() / kSectorBytes;
  std::set<uint64_t> after;
  for (const uint64_t index : file->durable.filled_from(first)) after.insert(index);
  for (auto at = file->sectors.lower_bound(first); at != file->sectors.end(); ++at) {
    after.insert(at->first);
  }
  for (const uint64_t index : after) {
    auto& versions = file->sectors[index];
    const uint64_t keeps = index == first ? file->bytes() % kSectorBytes : 0;
    const auto latest = versions.empty() ? file->durable.sector(index) : versions.back().sector;
    versions.push_back({steps_, cut_sector(latest, keeps), true});
  }
}

// Makes the file's length durable, so that sectors that earlier cuts removed cannot come back.
void CrashDisk::commit_lengths(File* file) {
  if (file->lengths.empty()) return;
  const uint64_t bytes = file->bytes();
  file->lengths.clear();
  for (auto& [index, versions] : file->sectors) {
    const auto last_cut = std::find_if(versions.rbegin(), versions.rend(),
                                       [](const SectorVersion& version) { return version.cut; });
    if (last_cut == versions.rend()) continue;
    file->durable.set_sector(index, last_cut->sector);
    versions.erase(versions.begin(), last_cut.base());
  }
  std::erase_if(file->sectors, [](const auto& sector) { return sector.second.empty(); });
  file->durable.resize(bytes);
}

void CrashDisk::sync_bytes(const FileStep& step) {
  File& file = files_.at(step.inode);
  LJ_ASSERT(step.begin <= step.end && step.end <= file.bytes());
  const bool was_cut = std::ranges::any_of(file.sectors, [](const auto& sector) {
    return std::ranges::any_of(sector.second, &SectorVersion::cut);
  });
  if (was_cut || file.durable.bytes() < step.end) commit_lengths(&file);
  const auto first = file.sectors.lower_bound(step.begin / kSectorBytes);
  const auto end = file.sectors.lower_bound((step.end + kSectorBytes - 1) / kSectorBytes);
  for (auto at = first; at != end; ++at) {
    file.durable.set_sector(at->first, at->second.back().sector);
  }
  file.sectors.erase(first, end);
}

void CrashDisk::sync(uint64_t inode) {
  if (const auto at = files_.find(inode); at != files_.end()) {
    File& file = at->second;
    commit_lengths(&file);
    for (const auto& [index, versions] : file.sectors) {
      file.durable.set_sector(index, versions.back().sector);
    }
    file.sectors.clear();
    return;
  }
  // Makes the directory's changes durable, and all earlier changes of the same names.
  std::set<std::pair<uint64_t, std::string>> needed;
  std::vector<NameChange> durable, rest;
  for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
    const bool is_needed = std::ranges::any_of(change->names, [&](const FileStep::Name& name) {
      return name.directory == inode || needed.contains({name.directory, name.name});
    });
    (is_needed ? durable : rest).push_back(*change);
    if (!is_needed) continue;
    for (const FileStep::Name& name : change->names) needed.emplace(name.directory, name.name);
  }
  for (auto change = durable.rbegin(); change != durable.rend(); ++change) apply(*change, &names_);
  changes_.assign(rest.rbegin(), rest.rend());
}

void CrashDisk::apply(const NameChange& change, Names* names) {
  for (const FileStep::Name& name : change.names) {
    if (name.inode == 0) {
      (*names)[name.directory].erase(name.name);
    } else {
      (*names)[name.directory][name.name] = name.inode;
    }
  }
}

FileImage CrashDisk::persisted(const File& file, const Choose& choose) {
  FileImage image = file.durable;
  std::vector<size_t> steps = {0};
  for (const auto& [step, bytes] : file.lengths) steps.push_back(step);
  const size_t length = choose(steps);
  const size_t length_step = steps[length];
  const uint64_t bytes = length == 0 ? image.bytes() : file.lengths[length - 1].second;
  for (const auto& [index, versions] : file.sectors) {
    if (index * kSectorBytes >= bytes) break;  // this sector is after the end
    steps.assign(1, 0);
    std::vector<SectorPointer> sectors = {image.sector(index)};
    for (const SectorVersion& version : versions) {
      if (version.cut && version.step > length_step) break;
      if (version.cut) {
        steps.clear();
        sectors.clear();
      }
      steps.push_back(version.step);
      sectors.push_back(version.sector);
    }
    image.set_sector(index, sectors[choose(steps)]);
  }
  image.resize(bytes);
  return image;
}

void CrashDisk::add_directory(uint64_t inode, const std::string& path, const Names& names,
                              const Choose& choose, CrashState* state) const {
  for (const auto& [name, child] : names.at(inode)) {
    const std::string child_path = joined(path, name);
    if (names.contains(child)) {
      state->directories.insert(child_path);
      add_directory(child, child_path, names, choose, state);
    } else {
      state->files[child_path] = persisted(files_.at(child), choose);
    }
  }
}

CrashState CrashDisk::state(const Choose& choose) const {
  CrashState state;
  state.marks = marks_;
  state.what = "cut after " + last_what_ + "; persisted:";
  const Choose choose_and_tell = [&](std::span<const size_t> steps) -> size_t {
    if (steps.size() == 1) return 0;
    LJ_ASSERT_IN_TESTS(std::ranges::is_sorted(steps));
    const size_t chosen = choose(steps);
    LJ_ASSERT(chosen < steps.size());
    constexpr size_t kMostWhat = 400;
    if (state.what.size() < kMostWhat) state.what += " " + std::to_string(steps[chosen]);
    return chosen;
  };
  Names names = names_;
  std::set<std::pair<uint64_t, std::string>> kept;  // names of changes that did not persist
  for (const NameChange& change : changes_) {
    const bool possible = std::ranges::none_of(change.names, [&](const FileStep::Name& name) {
      return kept.contains({name.directory, name.name});
    });
    if (possible && choose_and_tell(std::array<size_t, 2>{0, change.step}) == 1) {
      apply(change, &names);
      continue;
    }
    for (const FileStep::Name& name : change.names) kept.emplace(name.directory, name.name);
  }
  add_directory(kRootInode, "", names, choose_and_tell, &state);
  return state;
}

std::vector<CrashState> CrashDisk::states(size_t most, uint64_t seed) const {
  LJ_ASSERT(most >= 2);
  std::vector<CrashState> states;
  AllChoices all;
  do {
    states.push_back(
        state([&](std::span<const size_t> steps) { return all.choose(steps.size()); }));
  } while (all.choices() < most && all.next() && states.size() <= most);
  if (all.choices() < most && states.size() <= most) return states;

  states.resize(1);  // in the first state no unsynced change persisted
  states.push_back(all_persisted());
  while (states.size() < most) {
    RandomChoices random(seed, states.size());
    states.push_back(state([&](std::span<const size_t> steps) { return random.choose(steps); }));
  }
  return states;
}

}  // namespace logjam
