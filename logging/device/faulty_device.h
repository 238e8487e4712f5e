// `faulty:<spec>`: a device over an inner device. When the process is killed, the bytes that the
// inner device has not synced are lost, as in a power cut.
//
// Unsynced bytes are kept only in memory of this process, and reach the inner device with a
// Sync::kData. Before that, some random 512-byte sectors are written back early, in random order,
// as a real cache may do: a power cut tears writes and reorders them. All randomness comes from the
// seed. Writes under way reach the inner device one at a time, in random order, so after a power
// cut any of these writes may be there. Two overlapping writes end the process.
//
// If the inner device is memory, the bytes that are filled in place are also kept in memory of this
// process. When they are persisted, they reach the inner device cache line by cache line, in random
// order. Some random lines reach it before a thread persists them. So here, unlike on `nvm` itself,
// a kill loses bytes that were not written back. A cache line that two records share is written
// back for each record; the later write-back has both records' bytes.
//
// Protocol. Any thread may call power_cut(), forget_writes(), fail_next_write(), mapped() and
// persist(). power_cut() sets `cut_` first, so that a start() that is writing sectors back stops,
// and leaves a torn write. wait() takes no lock: it loads `inner_writes_`.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "logging/device/device.h"
#include "logging/format/segments.h"
#include "platform/atomic.h"
#include "platform/mutex.h"
#include "platform/thread_annotations.h"

namespace logjam {

class FaultyDevice final : public Device, private PersistentMemory {
 public:
  // Refuses if the device cannot be set up.
  FaultyDevice(std::unique_ptr<Device> inner, const DeviceOptions& options);
  ~FaultyDevice() override;

  uint32_t block_bytes() const override { return inner_->block_bytes(); }
  uint32_t depth() const override { return depth_; }
  void start(uint64_t offset, std::span<const std::byte> bytes, Sync sync,
             uint32_t slot = 0) override;
  bool finished(uint32_t slot = 0) override;
  void wait(uint64_t timeout_ns) override;
  bool start_blocks() const override { return inner_->start_blocks(); }
  std::string_view io() const override { return inner_->io(); }
  uint32_t threads() const override { return inner_->threads(); }
  void release(uint64_t before) override {
    if (!cut_.load()) inner_->release(before);
  }
  PersistentMemory* memory() override { return inner_->memory() == nullptr ? nullptr : this; }

  // Lets no write or persist complete from now on. Some unsynced bytes may have been written back.
  void power_cut();
  // Lets writes and persists complete again after power_cut(), but changes no file.
  void forget_writes() { forgets_.store(true); }
  // Makes the next start() or persist() fail with this errno.
  void fail_next_write(int error) { fail_.store(error); }

 private:
  struct Write {
    uint64_t offset, bytes;
    Sync sync;
    uint32_t slot;
  };
  std::byte* mapped(uint64_t offset, uint64_t bytes) override;
  bool persist(std::span<const std::byte> bytes) override;

  void fail_if_told();
  void write_back_line(uint64_t line) LJ_REQUIRES(mutex_);
  void write_back_sectors() LJ_REQUIRES(mutex_);
  void write_back_sector(uint64_t offset, std::span<const std::byte> bytes) LJ_REQUIRES(mutex_);
  void refuse_overlap(uint64_t offset, uint64_t bytes) const LJ_REQUIRES(mutex_);
  void begin_next() LJ_REQUIRES(mutex_);
  std::span<const std::byte> unsynced(const Write& write) LJ_REQUIRES(mutex_);

  std::unique_ptr<Device> inner_;
  const bool syncs_;  // whether DeviceOptions::sync_method syncs
  const uint32_t depth_;
  const std::string path_;
  const Segments segments_;
  int memory_fd_;  // holds unsynced bytes, at the file's offsets; dies with the process
  int file_fd_;    // for early write-back of sectors smaller than the inner device's blocks
  platform::mutex mutex_;
  std::mt19937_64 random_ LJ_GUARDED_BY(mutex_);
  // The writes that the inner device has not got yet, and the write that the inner device syncs.
  std::vector<Write> unsynced_ LJ_GUARDED_BY(mutex_);
  std::optional<Write> current_ LJ_GUARDED_BY(mutex_);
  platform::atomic<bool> inner_writes_{false};  // whether current_ has a value
  std::byte* staging_ = nullptr;                // page-aligned copy for the inner device
  size_t staging_bytes_ = 0;
  std::vector<uint64_t> lines_ LJ_GUARDED_BY(mutex_);  // of one persist(), for shuffling
  std::byte* cache_ = nullptr;  // indexed by file offset, if the inner device is memory
  platform::atomic<uint64_t> mapped_end_{0};
  platform::atomic<bool> cut_{false}, forgets_{false};
  platform::atomic<int> fail_{0};
};

}  // namespace logjam
