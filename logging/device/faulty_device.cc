#include "logging/device/faulty_device.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "logging/device/write_file.h"
#include "logging/format/segments.h"
#include "platform/clock.h"
#include "platform/fatal.h"

namespace logjam {
namespace {

constexpr uint64_t kSectorBytes = 512;
constexpr uint64_t kMostEarlySectors = 8;
constexpr uint64_t kCacheBytes = uint64_t{64} << 30;  // address space, as much as `nvm` reserves
constexpr uint64_t kLineBytes = platform::kCacheLine;
constexpr uint64_t kMostEarlyLines = 3, kEarlyReachBytes = 1024;

}  // namespace

FaultyDevice::FaultyDevice(std::unique_ptr<Device> inner, const DeviceOptions& options)
    : inner_(std::move(inner)),
      path_(options.path),
      segments_{options.segment_bytes},
      memory_fd_(memfd_create("logjam-unsynced", MFD_CLOEXEC)),
      file_fd_(inner_->keeps() ? open(path_.c_str(), O_RDWR | O_CLOEXEC) : -1),
      random_(options.seed) {
  if (memory_fd_ < 0 || (inner_->keeps() && file_fd_ < 0)) {
    platform::refuse("cannot set up the faulty device over " + path_ + ": " + strerror(errno));
  }
  if (inner_->memory() == nullptr) return;
  void* cache = mmap(nullptr, kCacheBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (cache == MAP_FAILED) {
    platform::refuse("cannot set up the faulty device over " + path_ + ": " + strerror(errno));
  }
  cache_ = static_cast<std::byte*>(cache);
}

FaultyDevice::~FaultyDevice() {
  inner_.reset();  // it may go on with a write from the staging memory
  if (staging_ != nullptr) munmap(staging_, staging_bytes_);
  if (cache_ != nullptr) munmap(cache_, kCacheBytes);
  close(memory_fd_);
  if (file_fd_ >= 0) close(file_fd_);
}

void FaultyDevice::fail_if_told() {
  if (const int error = fail_.exchange(0); error != 0) {
    platform::fatal("cannot write the log file " + path_ + ": " + strerror(error) +
                    "; nothing is acknowledged after this");
  }
}

void FaultyDevice::start(uint64_t offset, std::span<const std::byte> bytes, Sync sync) {
  fail_if_told();
  const platform::lock_guard<platform::mutex> guard(mutex_);
  if (cut_.load()) return;
  if (const int error = write_fully(memory_fd_, offset, bytes); error != 0) {
    platform::fatal(std::string("the faulty device cannot remember a write: ") + strerror(error));
  }
  extents_.push_back({offset, bytes.size()});
  write_back_sectors();
  if (sync == Sync::kNone || cut_.load()) return;

  std::ranges::shuffle(extents_, random_);
  while (extents_.size() > 1) {
    const Extent extent = extents_.back();
    extents_.pop_back();
    inner_->start(extent.offset, unsynced(extent), Sync::kNone);
    while (!inner_->finished()) inner_->wait(1'000'000);
    if (cut_.load()) return;
  }
  inner_->start(extents_[0].offset, unsynced(extents_[0]), Sync::kData);
  extents_.clear();
}

bool FaultyDevice::finished() { return cut_.load() ? forgets_.load() : inner_->finished(); }

void FaultyDevice::wait(uint64_t timeout_ns) {
  if (cut_.load()) {
    platform::sleep_ns(std::min<uint64_t>(timeout_ns, 1'000'000));
  } else {
    inner_->wait(timeout_ns);
  }
}

void FaultyDevice::power_cut() {
  cut_.store(true);
  const platform::lock_guard<platform::mutex> guard(mutex_);
  write_back_sectors();
}

void FaultyDevice::write_back_sectors() {
  if (file_fd_ < 0 || extents_.empty()) return;
  const bool cut_before = cut_.load();
  for (uint64_t count = random_() % (kMostEarlySectors + 1); count > 0; --count) {
    const Extent& extent = extents_[random_() % extents_.size()];
    const uint64_t at = extent.offset + random_() % extent.bytes;
    const uint64_t begin = std::max(at / kSectorBytes * kSectorBytes, extent.offset);
    const uint64_t end =
        std::min((at / kSectorBytes + 1) * kSectorBytes, extent.offset + extent.bytes);
    std::array<std::byte, kSectorBytes> sector;
    if (pread(memory_fd_, sector.data(), end - begin, static_cast<off_t>(begin)) > 0) {
      write_back_sector(begin, {sector.data(), end - begin});
    }
    if (cut_.load() != cut_before) return;
  }
}

// A sector whose segment file has no block for it yet is not written back.
void FaultyDevice::write_back_sector(uint64_t offset, std::span<const std::byte> bytes) {
  const uint64_t at = segments_.within(offset);
  if (segments_.index(offset) == 0) {
    write_fully(file_fd_, at, bytes);
    return;
  }
  const int fd = open(segment_path(path_, segments_.index(offset)).c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  if (lseek(fd, 0, SEEK_END) >= static_cast<off_t>(at + bytes.size())) write_fully(fd, at, bytes);
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
    // A cache may write back any line at any time: lines of other records, and lines of this record
    // before they are asked for.
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
  // The line is read by a system call, because other workers may be filling their parts of it.
  const std::span<const std::byte> bytes(cache_ + line * kLineBytes, kLineBytes);
  if (const int error = write_fully(file_fd_, line * kLineBytes, bytes); error != 0) {
    platform::fatal("cannot write the log file " + path_ + ": " + strerror(error));
  }
}

std::span<const std::byte> FaultyDevice::unsynced(const Extent& extent) {
  if (staging_bytes_ < extent.bytes) {
    if (staging_ != nullptr) munmap(staging_, staging_bytes_);
    staging_bytes_ = extent.bytes;
    staging_ = static_cast<std::byte*>(
        mmap(nullptr, staging_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  if (pread(memory_fd_, staging_, extent.bytes, static_cast<off_t>(extent.offset)) < 0) {
    platform::fatal(std::string("the faulty device lost its memory: ") + strerror(errno));
  }
  return {staging_, extent.bytes};
}

}  // namespace logjam
