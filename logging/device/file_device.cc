// `file`: direct I/O, with data sync, on a preallocated file. Each write has its own sync.
//
// start() uses io_uring, so that no thread must sleep for the write: busy workers look whether it
// has finished. start_and_wait() writes and syncs in the caller's thread (pwritev2 with RWF_DSYNC,
// or a write and fdatasync), for a caller that would sleep anyway. io_uring would cost more: it
// hands each sync over to a kernel thread and back (docs/DECISIONS.md). Polling io_uring without a
// pause does not help: the polling thread keeps the kernel thread off the core until a tick.
//
// io_uring posts the completion from the thread that submitted the write: the kernel interrupts
// that thread if it runs, and wakes it if it sleeps. The same thread begins a request that had to
// wait for another. If the thread ends first, the kernel may give the request back unexecuted, with
// ECANCELED or EFAULT (io_req_task_submit() in Linux). The device then executes the request again.
//
// With fdatasync or fsync a write is two linked requests: the kernel begins the sync when the write
// has ended. If the write is short or fails, the kernel cancels the sync, and the device submits
// the rest with a sync of its own. A write that spans segment files has a sync in each file.
//
// io_uring takes descriptors of the kernel, so platform::files() must return such descriptors.
// Where io_uring may not be used (a container, an old kernel, a limit of locked memory), threads of
// the log write in its place, with the same promises (logging/device/writer_threads.h).
#include <fcntl.h>
#include <glog/logging.h>
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
#include "logging/device/writer_threads.h"
#include "platform/assert.h"
#include "platform/fatal.h"
#include "platform/files.h"
#include "platform/limits.h"
#include "platform/test_value.h"

namespace logjam {
namespace {

constexpr uint32_t kLeastEntries = 4;
constexpr uint32_t kBlockBytes = 4096;

// Makes the device find io_uring forbidden if this value is 1.
const platform::TestValue no_io_uring("no_io_uring");

// The functions that both forms of the device share.
class DirectDevice : public Device {
 public:
  explicit DirectDevice(const DeviceOptions& options)
      : file_(with_usable_sync(options), O_DIRECT), depth_(options.depth) {}

  uint32_t block_bytes() const override { return kBlockBytes; }
  uint32_t depth() const override { return depth_; }
  void start_and_wait(uint64_t offset, std::span<const std::byte> bytes, Sync sync,
                      uint64_t) override {
    assert_in_blocks(offset, bytes);
    file_.make_room(offset + bytes.size());
    file_.write(offset, bytes, sync);
  }
  void release(uint64_t before) override { file_.release(before); }
  uint32_t threads() const override { return file_.threads(); }
  bool start_blocks() const override { return false; }

 protected:
  DeviceFile file_;

 private:
  const uint32_t depth_;
};

struct ExitUring {
  void operator()(io_uring* ring) const {
    io_uring_queue_exit(ring);
    delete ring;
  }
};
using UringPointer = std::unique_ptr<io_uring, ExitUring>;

class FileDevice final : public DirectDevice {
 public:
  // `ring` has two entries for each slot.
  FileDevice(const DeviceOptions& options, UringPointer ring)
      : DirectDevice(options), ring_(std::move(ring)), writes_(options.depth) {}
  ~FileDevice() override;

  std::string_view io() const override { return "io_uring"; }
  void start(uint64_t offset, std::span<const std::byte> bytes, Sync sync,
             uint32_t slot = 0) override;
  void start_and_wait(uint64_t offset, std::span<const std::byte> bytes, Sync sync,
                      uint64_t timeout_ns) override {
    LJ_ASSERT(std::ranges::none_of(writes_, &Write::under_way));
    DirectDevice::start_and_wait(offset, bytes, sync, timeout_ns);
  }
  bool finished(uint32_t slot = 0) override;
  void wait(uint64_t timeout_ns) override;

 private:
  struct Write {
    bool under_way = false;
    uint64_t offset = 0;
    std::span<const std::byte> bytes;  // the bytes that are not durable yet
    Sync sync = Sync::kNone;
    // The part of `bytes` of the present requests. Owns its file, because the kernel looks up the
    // descriptor of a linked request only when it begins the request.
    DeviceFile::Piece piece = {};
    uint32_t requests = 0;        // under way
    int written = 0, synced = 0;  // the results of the requests
  };
  bool syncs_apart(const Write& write) const {
    return write.sync == Sync::kData && (file_.sync_method() == SyncMethod::kFdatasync ||
                                         file_.sync_method() == SyncMethod::kFsync);
  }
  void prepare_sync(uint32_t slot);
  io_uring_sqe* entry();
  void submit(uint32_t slot);
  void submit_entries();
  void ended(uint32_t slot);

  const UringPointer ring_;
  std::vector<Write> writes_;  // by slot; guarded by the flush latch
};

FileDevice::~FileDevice() {
  for (uint32_t slot = 0; slot < depth(); ++slot) {
    while (!finished(slot)) wait(1'000'000);
  }
}

void FileDevice::start(uint64_t offset, std::span<const std::byte> bytes, Sync sync,
                       uint32_t slot) {
  assert_in_blocks(offset, bytes);
  LJ_ASSERT(slot < depth() && !writes_[slot].under_way);
  file_.make_room(offset + bytes.size());
  writes_[slot] = {.under_way = true, .offset = offset, .bytes = bytes, .sync = sync};
  submit(slot);
}

io_uring_sqe* FileDevice::entry() {
  io_uring_sqe* entry = io_uring_get_sqe(ring_.get());
  LJ_ASSERT(entry != nullptr);  // the ring has two entries for each slot
  return entry;
}

// Submits the write of the rest of the slot's first piece, and its sync.
void FileDevice::submit(uint32_t slot) {
  Write& write = writes_[slot];
  const DeviceFile::Piece& piece = write.piece = file_.first_piece(write.offset, write.bytes);
  io_uring_sqe* request = entry();
  io_uring_prep_write(request, *piece.file, piece.bytes.data(),
                      static_cast<uint32_t>(piece.bytes.size()), piece.in_file);
  request->user_data = uint64_t{slot} * 2;
  write.requests = 1;
  // One request both writes and syncs. It took 175 us; a write with a linked fsync took 283 us.
  if (write.sync == Sync::kData && file_.sync_method() == SyncMethod::kDsync) {
    request->rw_flags = RWF_DSYNC;
  }
  if (syncs_apart(write)) {
    request->flags |= IOSQE_IO_LINK;
    prepare_sync(slot);
  }
  submit_entries();
}

// Prepares the sync of the file of the slot's piece.
void FileDevice::prepare_sync(uint32_t slot) {
  io_uring_sqe* request = entry();
  const bool data = file_.sync_method() == SyncMethod::kFdatasync;
  io_uring_prep_fsync(request, *writes_[slot].piece.file, data ? IORING_FSYNC_DATASYNC : 0);
  request->user_data = uint64_t{slot} * 2 + 1;
  ++writes_[slot].requests;
}

void FileDevice::submit_entries() {
  const uint32_t prepared = io_uring_sq_ready(ring_.get());
  int submitted;
  do {
    submitted = io_uring_submit(ring_.get());
  } while (submitted == -EINTR || submitted == -EAGAIN);
  if (submitted < 0) file_.fail("submit a write to", -submitted);
  // A sync that the kernel gets alone would not wait for its write.
  if (static_cast<uint32_t>(submitted) != prepared) file_.fail("submit a write to", EAGAIN);
}

bool FileDevice::finished(uint32_t slot) {
  io_uring_cqe* completion = nullptr;
  while (writes_[slot].under_way && io_uring_peek_cqe(ring_.get(), &completion) == 0) {
    const auto of = static_cast<uint32_t>(completion->user_data / 2);
    Write& write = writes_[of];
    (completion->user_data % 2 == 0 ? write.written : write.synced) = completion->res;
    io_uring_cqe_seen(ring_.get(), completion);
    LJ_ASSERT(write.under_way && write.requests != 0);
    if (--write.requests == 0) ended(of);
  }
  return !writes_[slot].under_way;
}

// Handles the results when all requests of the slot have ended. `write.written` is the
// number of bytes that the kernel has written, or the negative of an errno.
void FileDevice::ended(uint32_t slot) {
  Write& write = writes_[slot];
  const int result = write.written;
  const char* const action = write.sync == Sync::kData ? "write and sync" : "write";
  if (result == -ECANCELED || result == -EINTR || result == -EAGAIN) return submit(slot);
  if (result == -EFAULT) {  // the caller's thread finds out whether the address is really bad
    file_.write(write.offset, write.bytes, write.sync);
    write = {};
    return;
  }
  if (result < 0) file_.fail(action, -result);
  if (result == 0) file_.fail("write", EIO);
  const auto done = static_cast<size_t>(result);
  LJ_ASSERT(done <= write.piece.bytes.size());
  const bool sync_begun = write.synced != -ECANCELED && write.synced != -EFAULT;
  if (syncs_apart(write) && !sync_begun) {
    // After a short write, the sync of the rest of the piece covers these bytes, too.
    if (done == write.piece.bytes.size()) {
      prepare_sync(slot);
      return submit_entries();
    }
  } else if (syncs_apart(write) && write.synced < 0) {
    file_.fail(action, -write.synced);
  }
  write.offset += done;
  write.bytes = write.bytes.subspan(done);
  write.under_way = !write.bytes.empty();
  write.piece.file = nullptr;
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
  syscall(SYS_io_uring_enter, ring_->ring_fd, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
          &argument, sizeof argument);
}

class ThreadedDevice final : public DirectDevice {
 public:
  explicit ThreadedDevice(const DeviceOptions& options)
      : DirectDevice(options), threads_(file_, options.depth) {}

  std::string_view io() const override { return "pwrite"; }
  void start(uint64_t offset, std::span<const std::byte> bytes, Sync sync,
             uint32_t slot = 0) override {
    assert_in_blocks(offset, bytes);
    file_.make_room(offset + bytes.size());
    threads_.start(offset, bytes, sync, slot);
  }
  bool finished(uint32_t slot = 0) override { return threads_.finished(slot); }
  void wait(uint64_t timeout_ns) override { threads_.wait(timeout_ns); }
  uint32_t threads() const override { return DirectDevice::threads() + threads_.count(); }

 private:
  WriterThreads threads_;
};

std::unique_ptr<Device> open_file_device(std::string_view, const DeviceOptions& options) {
  auto made = std::make_unique<io_uring>();
  const uint32_t entries = std::max(2 * options.depth, kLeastEntries);
  const int error = no_io_uring.get() != 0 ? -EPERM : io_uring_queue_init(entries, made.get(), 0);
  if (error == 0) return std::make_unique<FileDevice>(options, UringPointer(made.release()));
  const std::string why = "io_uring cannot be used here (" + platform::error_text(-error);
  // Some kernels count the rings of io_uring as locked memory.
  const std::string limit = error == -ENOMEM ? "; " + platform::locked_memory_limit() : "";
  if (error != -EPERM && error != -ENOSYS && error != -ENOMEM) {
    platform::refuse(why + "); use --device=sync");
  }
  LOG_FIRST_N(WARNING, 1) << why << limit << "), so the log's own threads write";
  return std::make_unique<ThreadedDevice>(options);
}

const DeviceRegistration file({
    .name = "file",
    .parameters = "",
    .what = "direct I/O with data sync on a preallocated file (io_uring)",
    .traits = {.has_segments = true, .needs_disk = true, .has_sync_methods = true},
    .open = open_file_device,
});

}  // namespace
}  // namespace logjam
