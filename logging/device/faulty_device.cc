#include "logging/device/faulty_device.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "logging/device/device_registry.h"
#include "logging/format/segments.h"
#include "platform/assert.h"
#include "platform/clock.h"
#include "platform/fatal.h"
#include "platform/files.h"

namespace logjam {
namespace {

constexpr uint64_t kDiskSectorBytes = 512;
constexpr uint64_t kMostEarlySectors = 8;
constexpr uint64_t kCacheBytes = uint64_t{64} << 30;  // address space, as much as `nvm` reserves
constexpr uint64_t kLineBytes = platform::kShortestLine;
constexpr uint64_t kMostEarlyLines = 3, kEarlyReachBytes = 1024;

}  // namespace

FaultyDevice::FaultyDevice(std::unique_ptr<Device> inner, const DeviceOptions& options)
    : inner_(std::move(inner)),
      syncs_(options.sync_method != SyncMethod::kNone),
      depth_(inner_->memory() == nullptr ? options.depth : 1),
      path_(options.path),
      segments_{options.segment_bytes},
      memory_fd_(memfd_create("logjam-unsynced", MFD_CLOEXEC)),
      file_fd_(inner_->traits().keeps ? open(path_.c_str(), O_RDWR | O_CLOEXEC) : -1),
      random_(options.seed) {
  if (memory_fd_ < 0 || (inner_->traits().keeps && file_fd_ < 0)) {
    platform::refuse("cannot set up the faulty device over " + path_ + ": " +
                     platform::error_text(errno));
  }
  if (inner_->memory() == nullptr) return;
  void* cache = mmap(nullptr, kCacheBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (cache == MAP_FAILED) {
    platform::refuse("cannot set up the faulty device over " + path_ + ": " +
                     platform::error_text(errno));
  }
  cache_ = static_cast<std::byte*>(cache);
}

FaultyDevice::~FaultyDevice() {
  inner_.reset();  // first, because the inner device may still write from the staging memory
  if (staging_ != nullptr) munmap(staging_, staging_bytes_);
  if (cache_ != nullptr) munmap(cache_, kCacheBytes);
  close(memory_fd_);
  if (file_fd_ >= 0) close(file_fd_);
}

void FaultyDevice::fail_if_told() {
  if (const int error = fail_.exchange(0); error != 0) {
    platform::fatal("cannot write the log file " + path_ + ": " + platform::error_text(error) +
                    "; nothing is acknowledged after this");
  }
}

void FaultyDevice::start(uint64_t offset, std::span<const std::byte> bytes, Sync sync,
                         uint32_t slot) {
  fail_if_told();
  assert_in_blocks(offset, bytes);
  LJ_ASSERT(slot < depth_);
  const platform::lock_guard<platform::mutex> guard(mutex_);
  if (cut_.load()) return;
  refuse_overlap(offset, bytes.size());
  if (const int error = platform::write_all(memory_fd_, offset, bytes); error != 0) {
    platform::fatal(std::string("the faulty device cannot remember a write: ") +
                    platform::error_text(error));
  }
  if (!syncs_) sync = Sync::kNone;  // the cache keeps the bytes, and a power cut loses them
  unsynced_.push_back({offset, bytes.size(), sync, slot});
  write_back_sectors();
  // Sometimes delays this write, so that the inner device's next write is chosen from several.
  if (sync == Sync::kData && unsynced_.size() > random_() % depth_) begin_next();
}

void FaultyDevice::refuse_overlap(uint64_t offset, uint64_t bytes) const {
  const auto overlaps = [&](const Write& write) {
    return write.sync == Sync::kData && offset < write.offset + write.bytes &&
           write.offset < offset + bytes;
  };
  if (std::ranges::any_of(unsynced_, overlaps) || (current_ && overlaps(*current_))) {
    platform::fatal("two writes to " + path_ + " that overlap at byte " + std::to_string(offset) +
                    " are under way at once");
  }
}

// Gives a random waiting write to the inner device, unless that device is still writing.
void FaultyDevice::begin_next() {
  if (current_ || cut_.load()) return;
  std::ranges::shuffle(unsynced_, random_);
  const auto synced = [](const Write& write) { return write.sync == Sync::kData; };
  if (std::ranges::none_of(unsynced_, synced)) return;
  for (size_t i = 0; i < unsynced_.size();) {
    if (synced(unsynced_[i])) {
      ++i;
      continue;
    }
    const Write write = unsynced_[i];
    unsynced_.erase(unsynced_.begin() + static_cast<ptrdiff_t>(i));
    inner_->start(write.offset, unsynced(write), Sync::kNone);
    while (!inner_->finished()) inner_->wait(1'000'000);
    if (cut_.load()) return;
  }
  current_ = unsynced_.back();
  unsynced_.pop_back();
  inner_->start(current_->offset, unsynced(*current_), Sync::kData);
  inner_writes_.store(true);
}

bool FaultyDevice::finished(uint32_t slot) {
  const platform::lock_guard<platform::mutex> guard(mutex_);
  if (cut_.load()) return forgets_.load();
  if (current_ && inner_->finished()) {
    inner_writes_.store(false);
    current_.reset();
  }
  begin_next();
  const auto in_slot = [&](const Write& write) {
    return write.sync == Sync::kData && write.slot == slot;
  };
  return !(current_ && in_slot(*current_)) && std::ranges::none_of(unsynced_, in_slot);
}

void FaultyDevice::wait(uint64_t timeout_ns) {
  if (cut_.load()) {
    platform::sleep_ns(std::min<uint64_t>(timeout_ns, 1'000'000));
  } else if (inner_writes_.load()) {
    inner_->wait(timeout_ns);
  }
}

void FaultyDevice::power_cut() {
  cut_.store(true);
  const platform::lock_guard<platform::mutex> guard(mutex_);
  write_back_sectors();
}

void FaultyDevice::write_back_sectors() {
  if (file_fd_ < 0 || unsynced_.empty()) return;
  const bool cut_before = cut_.load();
  for (uint64_t count = random_() % (kMostEarlySectors + 1); count > 0; --count) {
    const Write& write = unsynced_[random_() % unsynced_.size()];
    const uint64_t at = write.offset + random_() % write.bytes;
    const uint64_t begin = std::max(at / kDiskSectorBytes * kDiskSectorBytes, write.offset);
    const uint64_t end =
        std::min((at / kDiskSectorBytes + 1) * kDiskSectorBytes, write.offset + write.bytes);
    std::array<std::byte, kDiskSectorBytes> sector;
    if (pread(memory_fd_, sector.data(), end - begin, static_cast<off_t>(begin)) > 0) {
      write_back_sector(begin, {sector.data(), end - begin});
    }
    if (cut_.load() != cut_before) return;
  }
}

// Writes a sector back, unless its segment file has no block for it yet.
void FaultyDevice::write_back_sector(uint64_t offset, std::span<const std::byte> bytes) {
  const uint64_t at = segments_.within(offset);
  if (segments_.index(offset) == 0) {
    platform::write_all(file_fd_, at, bytes);
    return;
  }
  const int fd = open(segment_path(path_, segments_.index(offset)).c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  if (lseek(fd, 0, SEEK_END) >= static_cast<off_t>(at + bytes.size()))
    platform::write_all(fd, at, bytes);
  close(fd);
}

std::byte* FaultyDevice::mapped(uint64_t offset, uint64_t bytes) {
  inner_->memory()->mapped(offset, bytes);  // ends the process if the file cannot grow so far
  const uint64_t end = offset + bytes;
  uint64_t seen = mapped_end_.load();
  while (seen < end && !mapped_end_.compare_exchange_weak(seen, end)) {
  }
  return cache_ + offset;
}

bool FaultyDevice::persist(std::span<const std::byte> bytes) {
  fail_if_told();
  const auto begin = static_cast<uint64_t>(bytes.data() - cache_);
  {
    const platform::lock_guard<platform::mutex> guard(mutex_);
    lines_.clear();
    for (uint64_t line = begin / kLineBytes; line * kLineBytes < begin + bytes.size(); ++line) {
      lines_.push_back(line);
    }
    // A cache may write back any cache line at any time, also lines of other records.
    for (uint64_t early = random_() % (kMostEarlyLines + 1); early > 0; --early) {
      const uint64_t at = begin + random_() % kEarlyReachBytes;
      if (at < mapped_end_.load()) write_back_line(at / kLineBytes);
    }
    std::ranges::shuffle(lines_, random_);
    for (const uint64_t line : lines_) {
      if (cut_.load()) return forgets_.load();
      write_back_line(line);
    }
  }
  std::byte* inner = inner_->memory()->mapped(begin, bytes.size());
  return inner_->memory()->persist({inner, bytes.size()}) && !cut_.load();
}

void FaultyDevice::write_back_line(uint64_t line) {
  if (cut_.load()) return;
  // Reads the cache line by a system call, because other workers may be filling parts of the line.
  const std::span<const std::byte> bytes(cache_ + line * kLineBytes, kLineBytes);
  if (const int error = platform::write_all(file_fd_, line * kLineBytes, bytes); error != 0) {
    platform::fatal("cannot write the log file " + path_ + ": " + platform::error_text(error));
  }
}

std::span<const std::byte> FaultyDevice::unsynced(const Write& write) {
  if (staging_bytes_ < write.bytes) {
    if (staging_ != nullptr) munmap(staging_, staging_bytes_);
    staging_bytes_ = write.bytes;
    staging_ = static_cast<std::byte*>(
        mmap(nullptr, staging_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  if (pread(memory_fd_, staging_, write.bytes, static_cast<off_t>(write.offset)) < 0) {
    platform::fatal(std::string("the faulty device lost its memory: ") +
                    platform::error_text(errno));
  }
  return {staging_, write.bytes};
}

namespace {

const DeviceRegistration faulty({
    .name = "faulty",
    .parameters = ":<spec>",
    .what = "loses, tears and reorders what was not synced: for tests",
    .wraps = true,
    .accepts =
        [](std::string_view given) {
          const DeviceKind* inner = given.empty() ? nullptr : find_device(given.substr(1));
          return inner != nullptr && !inner->wraps && !inner->traits.discards;
        },
    .open = [](std::string_view given, const DeviceOptions& options) -> std::unique_ptr<Device> {
      DeviceOptions late = options;
      late.late = true;
      return std::make_unique<FaultyDevice>(open_device(given.substr(1), late), options);
    },
});

}  // namespace
}  // namespace logjam
