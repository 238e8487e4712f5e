// `file`: direct I/O, with data sync, on a preallocated file.
//
// Two ways to write. start() goes through io_uring, so that nobody need sleep for it: workers that
// are busy look in. start_and_wait() is pwrite and fdatasync in the caller's thread, for one that
// would sleep anyway: measured on a virtio disk 145 us a 4 KiB block against 175-220 us (io_uring
// finishes a sync in a kernel thread, and hands over to it and back).
//
// io_uring posts the completion from the thread that submitted: a running worker is interrupted for
// it, a sleeping one woken. If that thread ends first, the kernel may cancel the request unexecuted
// (ECANCELED): it is then submitted anew, as nothing of it was ever reported done.
#pragma once

#include <liburing.h>

#include "logging/device/device_file.h"

namespace logjam {

class FileDevice final : public Device {
 public:
  static constexpr uint32_t kBlockBytes = 4096;

  explicit FileDevice(const DeviceOptions& options);
  ~FileDevice() override;

  uint32_t block_bytes() const override { return kBlockBytes; }
  void start(uint64_t offset, std::span<const std::byte> bytes, Sync sync) override;
  void start_and_wait(uint64_t offset, std::span<const std::byte> bytes, Sync sync,
                      uint64_t timeout_ns) override;
  bool finished() override;
  void wait(uint64_t timeout_ns) override;
  bool start_blocks() const override { return false; }

 private:
  void submit();

  DeviceFile file_;
  io_uring ring_;
  // What is under way; under the flush latch.
  bool under_way_ = false;
  uint64_t offset_ = 0;
  std::span<const std::byte> bytes_;
  Sync sync_ = Sync::kNone;
};

}  // namespace logjam
