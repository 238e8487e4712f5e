#include "logging/device/device_file.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "platform/assert.h"
#include "platform/fatal.h"
#include "platform/files.h"
#include "platform/memory.h"

namespace logjam {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
// The length of a write of zeros while the log is written. The log's writes wait for this write.
constexpr uint64_t kPieceBytes = kMiB / 4;
// With segments the grower is 192 MiB ahead of the log: a quarter of a second at 800 MB/s.
constexpr uint64_t kSegmentsAhead = 192 * kMiB, kSegmentsBurst = kMiB;
// Without segments, the grower is between these lengths ahead of the log, except in short runs.
constexpr uint64_t kLeastAhead = 16 * kMiB, kMostAhead = 64 * kMiB;
constexpr size_t kMostOpen = 8;
// How many released segments are kept in addition to the segments that the grower makes at once.
constexpr uint64_t kMoreFree = 2;
constexpr uint64_t kSafetyTimeoutNs = 100'000'000;

// Takes over a file that Files::open() has returned.
DeviceFile::OpenFile owned(int file) {
  return {new int(file), [](const int* open) {
            platform::files().close(*open);
            delete open;
          }};
}

}  // namespace

using platform::files;

const DeviceOptions& with_usable_sync(const DeviceOptions& options) {
  if (options.sync_method != SyncMethod::kDsync) return options;
  const int error = files().synced_write_error();
  if (error == 0) return options;
  platform::refuse(
      "--sync=dsync needs pwritev2() with RWF_DSYNC, which this machine does not have (" +
      platform::error_text(error) + "); use --sync=fdatasync");
}

DeviceFile::DeviceFile(const DeviceOptions& options, int open_flags, Grown grown)
    : path_(options.path),
      segments_{options.segment_bytes},
      open_flags_(open_flags),
      sync_method_(options.sync_method),
      grows_(options.preallocate_bytes != 0),
      grown_(std::move(grown)),
      free_(path_),
      maker_(path_, segments_, open_flags, free_) {
  // A write past the file size limit must fail with EFBIG, and not end the process by a signal.
  std::signal(SIGXFSZ, SIG_IGN);
  const int file = files().open(path_, O_RDWR | O_CREAT | open_flags);
  if (file == -EINVAL && (open_flags & O_DIRECT) != 0) {
    platform::refuse(path_ + " is on a file system without direct I/O; use --device=sync there");
  }
  if (file < 0)
    platform::refuse("cannot open the log file " + path_ + ": " + platform::error_text(-file));
  file_ = owned(file);
  hold(file, path_);
  if (grows_) preallocate(options.preallocate_bytes);
  if (const int error = platform::sync_parent(path_); error != 0) {
    fail("sync the directory of", error);
  }
}

DeviceFile::~DeviceFile() {
  closing_.store(true, platform::memory_order_release);
  event_.notify();
  if (grower_.joinable()) grower_.join();
}

// Makes the file `bytes` long. Keeps the bytes of a recycled file: they are the earlier log until
// the new header is written, and this run may still be refused.
void DeviceFile::preallocate(uint64_t bytes) {
  int error = 0;
  if (segments_.bytes != 0) {
    bytes = (bytes + segments_.bytes - 1) / segments_.bytes * segments_.bytes;
    error = make_segments(bytes, kMiB);
    // At least one segment is made ahead, also if little is preallocated (tests, short runs).
    ahead_ = std::clamp(bytes - segments_.bytes, segments_.bytes,
                        std::max(segments_.bytes, kSegmentsAhead));
    burst_ = kSegmentsBurst;
  } else {
    uint64_t old = 0;
    error = pad_to_page(*file_, &old);
    if (error == 0 && grown_ != nullptr && old != 0) error = grown_(*file_, 0, old);
    ready_.store(old);
    if (error == 0) error = write_zeros(bytes);
    if (error == 0) error = files().sync_data(*file_);
    ahead_ = std::clamp(bytes / 4, kLeastAhead, kMostAhead);
    // Otherwise the file of a test or short run would grow before the log has used a quarter of it.
    ahead_ = std::min(ahead_, std::max(bytes / 2, kMiB));
    burst_ = ahead_;
  }
  if (error == 0) return;
  platform::refuse("cannot preallocate " + std::to_string(bytes / kMiB) + " MiB for the log file " +
                   (segments_.bytes != 0 ? maker_.path() : path_) + ": " +
                   platform::error_text(error));
}

void DeviceFile::raise_ready(uint64_t ready) {
  LJ_ASSERT(ready > ready_.load(platform::memory_order_relaxed));
  ready_.store(ready, platform::memory_order_release);
  event_.notify();
}

int DeviceFile::write_zeros(uint64_t end) {
  uint64_t ready = ready_.load(platform::memory_order_relaxed);
  while (ready < end && !closing_.load(platform::memory_order_relaxed)) {
    const uint64_t piece = kMiB - ready % kMiB;  // a recycled file may have any size
    int error = platform::write_all(*file_, ready, zeros().first(piece));
    if (error == 0 && grown_ != nullptr) error = grown_(*file_, ready, ready + piece);
    if (error != 0) return error;
    ready += piece;
    raise_ready(ready);
  }
  return 0;
}

int DeviceFile::make_segments(uint64_t end, uint64_t piece_bytes) {
  while (maker_.made() < end && !closing_.load(platform::memory_order_relaxed)) {
    const uint64_t ready = maker_.ready();
    if (const int error = maker_.go_on(piece_bytes); error != 0) return error;
    if (maker_.ready() != ready) raise_ready(maker_.ready());
  }
  return 0;
}

void DeviceFile::grow(uint64_t end) {
  {
    const platform::lock_guard<platform::mutex> guard(growing_);
    if (!grower_.joinable()) grower_ = platform::thread([this] { grower(); });
    if (end + ahead_ > wanted_.load(platform::memory_order_relaxed)) {
      wanted_.store(end + ahead_ + burst_, platform::memory_order_release);
      event_.notify();
    }
  }
  platform::EventCount::Waiter waiter(event_);
  while (true) {
    const uint32_t seen = waiter.prepare();
    if (end <= ready_.load(platform::memory_order_acquire)) return;
    const int error = error_.load(platform::memory_order_acquire);
    if (error != 0) fail("grow", segments_.bytes != 0 ? maker_.path() : path_, error);
    waiter.sleep(seen, kSafetyTimeoutNs);
  }
}

void DeviceFile::grower() {
  platform::name_this_thread("log-grower");
  platform::favour_this_thread();
  platform::EventCount::Waiter waiter(event_);
  while (true) {
    // `closing_` and `wanted_` are loaded after prepare(): a change of either makes sleep() return.
    const uint32_t seen = waiter.prepare();
    if (closing_.load(platform::memory_order_acquire)) return;
    const uint64_t wanted = wanted_.load(platform::memory_order_acquire);
    const bool segments = segments_.bytes != 0;
    if (wanted <= (segments ? maker_.made() : ready_.load(platform::memory_order_relaxed))) {
      waiter.sleep(seen);
      continue;
    }
    int error = segments ? make_segments(wanted, kPieceBytes) : write_zeros(wanted);
    // This sync commits the new size and blocks, so that the log's syncs do not have to.
    if (!segments && error == 0) error = files().sync_data(*file_);
    if (error != 0) {
      error_.store(error, platform::memory_order_release);
      event_.notify();
      return;
    }
  }
}

DeviceFile::Piece DeviceFile::first_piece(uint64_t offset, std::span<const std::byte> bytes) {
  const uint64_t index = segments_.index(offset);
  const uint64_t length = std::min<uint64_t>(bytes.size(), segments_.left(offset));
  Piece piece{file_, segments_.within(offset), offset, bytes.first(length)};
  if (index == 0) return piece;
  // Released segments are dropped below: their files may have become other segments.
  const uint64_t released = free_.released();
  LJ_ASSERT(index >= released);
  const auto [at, is_new] = open_.try_emplace(index);
  drop_below(released);
  if (is_new) {
    const std::string path = segment_path(path_, index);
    const int file = files().open(path, O_RDWR | open_flags_);
    if (file < 0) fail("open", path, -file);
    at->second = owned(file);
    hold(file, path);
  }
  piece.file = at->second;
  // This closes no file with a write under way, because the write's piece owns the file, too.
  if (const auto oldest = open_.begin(); open_.size() > kMostOpen && oldest != at) {
    open_.erase(oldest);
  }
  return piece;
}

void DeviceFile::hold(int file, const std::string& path) const {
  if (const int error = files().lock(file, true, true); error != 0) {
    fail("lock", path, error);
  }
}

void DeviceFile::drop_below(uint64_t index) {
  while (open_.begin()->first < index) open_.erase(open_.begin());
}

void DeviceFile::release(uint64_t before) {
  if (segments_.bytes == 0) return punch(before);
  before = std::min(before, ready_.load(platform::memory_order_acquire));
  const uint64_t most = (ahead_ + burst_) / segments_.bytes + kMoreFree;
  if (const int error = free_.release(segments_.index(before), most); error != 0) {
    fail("remove a segment of", error);
  }
}

void DeviceFile::punch(uint64_t end) {
  const platform::lock_guard<platform::mutex> hold(punching_);
  end = end / kLogHeaderBytes * kLogHeaderBytes;
  if (end <= punched_) return;
  const int error = files().punch(*file_, punched_, end - punched_);
  // If the file system cannot give blocks back, the file stays large.
  if (error != 0 && error != EOPNOTSUPP) fail("give back blocks of", error);
  punched_ = end;
}

void DeviceFile::write(uint64_t offset, std::span<const std::byte> bytes, Sync sync) {
  while (!bytes.empty()) {
    const Piece piece = first_piece(offset, bytes);
    write(piece, sync);
    offset += piece.bytes.size();
    bytes = bytes.subspan(piece.bytes.size());
  }
}

void DeviceFile::write(const Piece& piece, Sync sync) const {
  const bool syncs = sync == Sync::kData;
  const bool with_write = syncs && sync_method_ == SyncMethod::kDsync;
  int error = platform::write_all(*piece.file, piece.in_file, piece.bytes, with_write);
  if (error == 0 && syncs && sync_method_ == SyncMethod::kFdatasync) {
    error = files().sync_data(*piece.file);
  }
  if (error == 0 && syncs && sync_method_ == SyncMethod::kFsync) error = files().sync(*piece.file);
  if (error == 0) return;
  const char* action = syncs ? "write and sync" : "write";
  fail(action, segment_path(path_, segments_.index(piece.in_log)), error);
}

void DeviceFile::fail(const char* action, const std::string& path, int error) {
  platform::fatal(std::string("cannot ") + action + " the log file " + path + ": " +
                  platform::error_text(error) + "; nothing is acknowledged after this");
}

int FreeSegments::release(uint64_t end, uint64_t most) {
  const platform::lock_guard<platform::mutex> hold(mutex_);
  if (end <= released()) return 0;
  released_.store(end, platform::memory_order_release);
  for (; end - first_ > most; ++first_) {
    const int error = files().remove(segment_path(path_, first_));
    if (error != 0 && error != ENOENT) return error;
  }
  return 0;
}

int FreeSegments::become(uint64_t index) {
  const platform::lock_guard<platform::mutex> hold(mutex_);
  LJ_ASSERT(first_ <= released() && (index == 0 || index >= released()));
  const std::string path = segment_path(path_, index);
  if (first_ == released()) return 0;
  platform::FileStatus there;
  if (const int error = files().status(path, &there); error != 0) return error;
  if (there.kind != platform::FileKind::kNone) return 0;
  const int error = files().rename(segment_path(path_, first_), path);
  if (error == 0) ++first_;
  return error;
}

std::span<const std::byte> zeros() {
  constexpr uint64_t kBytes = uint64_t{1} << 20;
  static const auto* memory = static_cast<const std::byte*>(platform::map_huge(kBytes));
  return {memory, kBytes};
}

int pad_to_page(int file, uint64_t* bytes) {
  constexpr uint64_t kPageBytes = 4096;
  uint64_t size = 0;
  if (const int error = files().size(file, &size); error != 0) return error;
  *bytes = (size + kPageBytes - 1) / kPageBytes * kPageBytes;
  return *bytes == size ? 0 : files().resize(file, *bytes);
}

SegmentMaker::SegmentMaker(const std::string& path, Segments segments, int open_flags,
                           FreeSegments& free)
    : path_(path), segments_(segments), open_flags_(open_flags), free_(free) {}

SegmentMaker::~SegmentMaker() {
  if (file_ >= 0) files().close(file_);
}

int SegmentMaker::open_file() {
  if (const int error = free_.become(index_); error != 0) return error;
  file_ = files().open(path(), O_RDWR | O_CREAT | open_flags_);
  if (file_ < 0) return -file_;
  uint64_t bytes = 0;
  const int error = pad_to_page(file_, &bytes);
  written_ = std::min(bytes, segments_.bytes);
  return error;
}

int SegmentMaker::go_on(uint64_t most_bytes) {
  LJ_ASSERT(most_bytes != 0 && most_bytes % 4096 == 0);
  if (file_ < 0) {
    if (const int error = open_file(); error != 0) return error;
  }
  if (written_ < segments_.bytes) {
    const uint64_t piece = std::min({most_bytes, segments_.bytes - written_, zeros().size()});
    const int error = platform::write_all(file_, written_, zeros().first(piece));
    if (error != 0) return error;
    written_ += piece;
  }
  return written_ < segments_.bytes ? 0 : finish();
}

// Syncs a recycled segment, too: the run that made it may have been killed before it synced it.
int SegmentMaker::finish() {
  LJ_ASSERT(written_ == segments_.bytes);
  if (const int error = files().sync_data(file_); error != 0) return error;
  if (const int error = platform::sync_parent(path_); error != 0) return error;
  files().close(file_);
  file_ = -1;
  ++index_;
  written_ = 0;
  return 0;
}

}  // namespace logjam
