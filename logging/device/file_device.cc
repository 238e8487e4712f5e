#include "logging/device/file_device.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "platform/fatal.h"

namespace logjam {

FileDevice::FileDevice(const DeviceOptions& options) : file_(options, O_DIRECT) {
  if (const int error = io_uring_queue_init(4, &ring_, 0); error != 0) {
    platform::refuse(std::string("io_uring cannot be used here (") + strerror(-error) +
                     "); use --device=sync");
  }
}

FileDevice::~FileDevice() {
  while (!finished()) wait(1'000'000);
  io_uring_queue_exit(&ring_);
}

void FileDevice::start(uint64_t offset, std::span<const std::byte> bytes, Sync sync) {
  file_.make_room(offset + bytes.size());
  under_way_ = true;
  offset_ = offset;
  bytes_ = bytes;
  sync_ = sync;
  submit();
}

void FileDevice::submit() {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  // What does not lie in one segment file is written by another request, as what a short write
  // leaves over is.
  const DeviceFile::Place at = file_.place(offset_);
  const uint64_t bytes = std::min<uint64_t>(bytes_.size(), at.bytes);
  io_uring_prep_write(entry, at.fd, bytes_.data(), static_cast<uint32_t>(bytes), at.offset);
  // One request both writes and syncs: it took 175 us, and a write with a linked fsync 283 us.
  if (sync_ == Sync::kData) entry->rw_flags = RWF_DSYNC;
  int submitted;
  do {
    submitted = io_uring_submit(&ring_);
  } while (submitted == -EINTR || submitted == -EAGAIN);
  if (submitted < 0) file_.fail("submit a write to", -submitted);
}

void FileDevice::start_and_wait(uint64_t offset, std::span<const std::byte> bytes, Sync sync,
                                uint64_t) {
  file_.make_room(offset + bytes.size());
  file_.write(offset, bytes);
  if (sync == Sync::kData) file_.sync();
}

bool FileDevice::finished() {
  if (!under_way_) return true;
  io_uring_cqe* completion = nullptr;
  if (io_uring_peek_cqe(&ring_, &completion) != 0) return false;
  const int result = completion->res;
  io_uring_cqe_seen(&ring_, completion);
  if (result == -ECANCELED || result == -EINTR || result == -EAGAIN) {
    submit();
    return false;
  }
  if (result < 0) file_.fail(sync_ == Sync::kData ? "write and sync" : "write", -result);
  if (result == 0) file_.fail("write", EIO);
  if (static_cast<size_t>(result) < bytes_.size()) {
    offset_ += static_cast<uint64_t>(result);
    bytes_ = bytes_.subspan(static_cast<size_t>(result));
    submit();
    return false;
  }
  under_way_ = false;
  return true;
}

void FileDevice::wait(uint64_t timeout_ns) {
  // This is the bare system call, because liburing's wait functions touch the ring, which belongs
  // to the thread that holds the flush latch. The call returns at once if a completion is in the
  // ring.
  __kernel_timespec time{static_cast<long long>(timeout_ns / 1'000'000'000),
                         static_cast<long long>(timeout_ns % 1'000'000'000)};
  io_uring_getevents_arg argument{};
  argument.sigmask_sz = _NSIG / 8;
  argument.ts = reinterpret_cast<uint64_t>(&time);
  syscall(SYS_io_uring_enter, ring_.ring_fd, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
          &argument, sizeof argument);
}

}  // namespace logjam
