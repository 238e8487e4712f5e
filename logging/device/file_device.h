// `file`: direct I/O, with data sync, on a preallocated file. Each write syncs itself.
//
// There are two ways to write. start() goes through io_uring, so that no thread must sleep for the
// write: busy workers look whether it has finished. start_and_wait() is one system call in the
// caller's thread that writes and syncs (pwritev2 with RWF_DSYNC), for a caller that would sleep
// anyway. Measured on a virtio disk, it takes 27 us for a 4 KiB block (write 15, cache flush 12).
// io_uring takes 28 to 34 us, because it finishes a sync in a kernel thread, and hands over to that
// thread and back. To look for its completion without a pause is no way to be faster: it keeps that
// kernel thread from the core, until the next tick.
//
// io_uring posts the completion from the thread that submitted the write: the kernel interrupts
// that thread if it runs, and wakes it if it sleeps. If the thread ends first, the kernel may
// cancel the request unexecuted (ECANCELED). The device then submits the request again; no part of
// it was ever reported done.
#pragma once

#include <liburing.h>

#include <vector>

#include "logging/device/device_file.h"

namespace logjam {

class FileDevice final : public Device {
 public:
  static constexpr uint32_t kBlockBytes = 4096;

  // Ends the process with one sentence if the file or io_uring cannot be used.
  explicit FileDevice(const DeviceOptions& options);
  ~FileDevice() override;

  uint32_t block_bytes() const override { return kBlockBytes; }
  uint32_t depth() const override { return static_cast<uint32_t>(writes_.size()); }
  void start(uint64_t offset, std::span<const std::byte> bytes, Sync sync,
             uint32_t slot = 0) override;
  void start_and_wait(uint64_t offset, std::span<const std::byte> bytes, Sync sync,
                      uint64_t timeout_ns) override;
  bool finished(uint32_t slot = 0) override;
  void release(uint64_t before) override { file_.release(before); }
  void wait(uint64_t timeout_ns) override;
  bool start_blocks() const override { return false; }

 private:
  struct Write {
    bool under_way = false;
    uint64_t offset = 0;
    std::span<const std::byte> bytes;
    Sync sync = Sync::kNone;
  };
  void submit(uint32_t slot);
  void completed(uint32_t slot, int result);

  DeviceFile file_;
  io_uring ring_;
  std::vector<Write> writes_;  // by slot; guarded by the flush latch
};

}  // namespace logjam
