// `file`: direct I/O, with data sync, on a preallocated file. Each write syncs itself.
//
// start() uses io_uring, so that no thread sleeps for the write: busy workers look whether it has
// finished. start_and_wait() writes and syncs with one system call in the caller's thread (pwritev2
// with RWF_DSYNC), for a caller that would sleep anyway. io_uring costs more, because it hands each
// sync over to a kernel thread and back (docs/DECISIONS.md). Polling io_uring without a pause is
// not faster: it keeps the kernel thread off the core until a tick.
//
// io_uring posts the completion from the thread that submitted the write: the kernel interrupts
// that thread if it runs, and wakes it if it sleeps. If the thread ends first, the kernel may
// cancel the request unexecuted (ECANCELED). The device then submits the request again.
//
// io_uring takes descriptors of the kernel, so platform::files() must return such descriptors.
#include <fcntl.h>
#include <liburing.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include "logging/device/device_file.h"
#include "logging/device/device_registry.h"
#include "platform/assert.h"
#include "platform/fatal.h"
#include "platform/files.h"
#include "platform/limits.h"

namespace logjam {
namespace {

constexpr uint32_t kLeastEntries = 4;
constexpr uint32_t kBlockBytes = 4096;

class FileDevice final : public Device {
 public:
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

FileDevice::FileDevice(const DeviceOptions& options)
    : file_(options, O_DIRECT), writes_(options.depth) {
  if (const int error = io_uring_queue_init(std::max(options.depth, kLeastEntries), &ring_, 0);
      error != 0) {
    // Some kernels count the rings of io_uring as locked memory.
    const std::string limit = error == -ENOMEM ? "; " + platform::locked_memory_limit() : "";
    platform::refuse(std::string("io_uring cannot be used here (") + platform::error_text(-error) +
                     limit + "); use --device=sync");
  }
}

FileDevice::~FileDevice() {
  for (uint32_t slot = 0; slot < depth(); ++slot) {
    while (!finished(slot)) wait(1'000'000);
  }
  io_uring_queue_exit(&ring_);
}

void FileDevice::start(uint64_t offset, std::span<const std::byte> bytes, Sync sync,
                       uint32_t slot) {
  assert_in_blocks(offset, bytes);
  LJ_ASSERT(slot < depth() && !writes_[slot].under_way);
  file_.make_room(offset + bytes.size());
  writes_[slot] = {true, offset, bytes, sync};
  submit(slot);
}

void FileDevice::submit(uint32_t slot) {
  const Write& write = writes_[slot];
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  LJ_ASSERT(entry != nullptr);  // the ring has an entry for each slot
  // Another request writes the part in the next segment file, or the rest of a short write.
  const DeviceFile::Place at = file_.place(write.offset);
  const uint64_t bytes = std::min<uint64_t>(write.bytes.size(), at.bytes);
  io_uring_prep_write(entry, at.file, write.bytes.data(), static_cast<uint32_t>(bytes), at.offset);
  entry->user_data = slot;
  // One request both writes and syncs. It took 175 us; a write with a linked fsync took 283 us.
  if (write.sync == Sync::kData) entry->rw_flags = RWF_DSYNC;
  int submitted;
  do {
    submitted = io_uring_submit(&ring_);
  } while (submitted == -EINTR || submitted == -EAGAIN);
  if (submitted < 0) file_.fail("submit a write to", -submitted);
}

void FileDevice::start_and_wait(uint64_t offset, std::span<const std::byte> bytes, Sync sync,
                                uint64_t) {
  assert_in_blocks(offset, bytes);
  LJ_ASSERT(std::ranges::none_of(writes_, &Write::under_way));
  file_.make_room(offset + bytes.size());
  file_.write(offset, bytes, sync);
}

bool FileDevice::finished(uint32_t slot) {
  io_uring_cqe* completion = nullptr;
  while (writes_[slot].under_way && io_uring_peek_cqe(&ring_, &completion) == 0) {
    const auto of = static_cast<uint32_t>(completion->user_data);
    const int result = completion->res;
    io_uring_cqe_seen(&ring_, completion);
    completed(of, result);
  }
  return !writes_[slot].under_way;
}

// Handles a completion: the kernel has written `result` bytes, or the error is -`result`.
void FileDevice::completed(uint32_t slot, int result) {
  Write& write = writes_[slot];
  if (result == -ECANCELED || result == -EINTR || result == -EAGAIN) return submit(slot);
  if (result < 0) file_.fail(write.sync == Sync::kData ? "write and sync" : "write", -result);
  if (result == 0) file_.fail("write", EIO);
  const auto done = static_cast<size_t>(result);
  LJ_ASSERT(write.under_way && done <= write.bytes.size());
  write.offset += done;
  write.bytes = write.bytes.subspan(done);
  write.under_way = !write.bytes.empty();
  if (write.under_way) submit(slot);
}

void FileDevice::wait(uint64_t timeout_ns) {
  // liburing's wait functions touch the ring, which belongs to the thread that holds the flush
  // latch. This system call returns at once if a completion is in the ring.
  __kernel_timespec time{static_cast<long long>(timeout_ns / 1'000'000'000),
                         static_cast<long long>(timeout_ns % 1'000'000'000)};
  io_uring_getevents_arg argument{};
  argument.sigmask_sz = _NSIG / 8;
  argument.ts = reinterpret_cast<uint64_t>(&time);
  syscall(SYS_io_uring_enter, ring_.ring_fd, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
          &argument, sizeof argument);
}

const DeviceRegistration file({
    .name = "file",
    .parameters = "",
    .what = "direct I/O with data sync on a preallocated file (io_uring)",
    .traits = {.has_segments = true, .needs_disk = true},
    .open = open_plain<FileDevice>,
});

}  // namespace
}  // namespace logjam
