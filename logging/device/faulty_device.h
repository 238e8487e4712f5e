// `faulty:<spec>`: what the inner device has not synced is lost when the process is killed, as in a
// power cut.
//
// Unsynced bytes are kept in memory of this process only and reach the inner device with a
// Sync::kData. Before that, as a real cache may, some random 512-byte sectors are written back
// early, in random order: a cut tears writes and reorders them. All randomness comes from the seed.
//
// Over a device that is memory, what is filled in place is likewise this process's own memory, and
// reaches the inner device's cache line by cache line, in random order, when it is persisted; some
// lines that nobody persisted leave the cache before. So here, unlike on `nvm` itself, a kill does
// lose what was not written back.
//
// Protocol: start() and finished() under the flush latch. power_cut() comes from any thread: it
// sets `cut_` first, so that a start() that is writing sectors back stops there, torn; the mutex
// then guards what is unsynced. mapped() and persist() come from any thread. Lines are copied under
// the mutex: a line that two records share is copied for each, the later copy holding both.
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "logging/device/device.h"
#include "platform/atomic.h"
#include "platform/mutex.h"

namespace logjam {

class FaultyDevice final : public Device, private PersistentMemory {
 public:
  FaultyDevice(std::unique_ptr<Device> inner, const DeviceOptions& options);
  ~FaultyDevice() override;

  uint32_t block_bytes() const override { return inner_->block_bytes(); }
  void start(uint64_t offset, std::span<const std::byte> bytes, Sync sync) override;
  bool finished() override;
  void wait(uint64_t timeout_ns) override;
  bool start_blocks() const override { return inner_->start_blocks(); }
  bool keeps() const override { return inner_->keeps(); }
  PersistentMemory* memory() override { return inner_->memory() == nullptr ? nullptr : this; }

  // From now on nothing completes. Some of what was not synced may have been written back.
  void power_cut();
  // The next start() fails with this errno.
  void fail_next_write(int error) { fail_.store(error); }

 private:
  struct Extent {
    uint64_t offset, bytes;
  };
  std::byte* mapped(uint64_t offset, uint64_t bytes) override;
  bool persist(std::span<const std::byte> bytes) override;

  void fail_if_told();
  void write_back_line(uint64_t line);
  void write_back_sectors();
  std::span<const std::byte> unsynced(const Extent& extent);

  std::unique_ptr<Device> inner_;
  const std::string path_;
  int memory_fd_;  // holds unsynced bytes, at the file's offsets; dies with the process
  int file_fd_;    // for early write-back of single sectors, below the inner device's block size
  platform::mutex mutex_;
  std::mt19937_64 random_;
  std::vector<Extent> extents_;   // unsynced
  std::byte* staging_ = nullptr;  // page-aligned copy for the inner device
  size_t staging_bytes_ = 0;
  std::vector<uint64_t> lines_;  // of one persist(), for shuffling
  std::byte* cache_ = nullptr;   // at the file's offsets, if the inner device is memory
  platform::atomic<uint64_t> mapped_end_{0};
  platform::atomic<bool> cut_{false};
  platform::atomic<int> fail_{0};
};

}  // namespace logjam
