#include "logging/device/nvm_device.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "platform/clock.h"
#include "platform/copy.h"
#include "platform/fatal.h"
#include "platform/mapped_file.h"
#include "platform/persist.h"

namespace logjam {
namespace {

constexpr uint64_t kLeastBytes = uint64_t{1} << 20;  // not 0: the file must always grow

// The handler of SIGBUS: another process has cut the file short, or the memory is bad.
void memory_is_gone(int) {
  constexpr char kSentence[] =
      "logjam: memory mapped from a file, as the log is with --device=nvm, cannot be accessed any "
      "more (SIGBUS); nothing is acknowledged after this\n";
  [[maybe_unused]] const ssize_t said = write(STDERR_FILENO, kSentence, sizeof kSentence - 1);
  _exit(platform::kExitFailed);
}

DeviceOptions that_grows(DeviceOptions options) {
  options.preallocate_bytes = std::max(options.preallocate_bytes, kLeastBytes);
  return options;
}

}  // namespace

NvmDevice::NvmDevice(const DeviceOptions& options, double latency_ns)
    : latency_ticks_(platform::ns_to_ticks(latency_ns)),
      prefault_bytes_(that_grows(options).preallocate_bytes),
      file_(that_grows(options), 0,
            [this](int fd, uint64_t begin, uint64_t end) { return grown(fd, begin, end); }) {
  std::signal(SIGBUS, memory_is_gone);
}

NvmDevice::Mapping::~Mapping() {
  if (base != nullptr) platform::unmap_file(base);
}

int NvmDevice::grown(int fd, uint64_t begin, uint64_t end) {
  if (end > platform::most_mapped_bytes()) return EFBIG;
  if (mapping_.base == nullptr) mapping_.base = platform::map_file(fd);
  if (mapping_.base == nullptr) return errno;
  if (begin == 0) {
    // The file may be recycled, and a recycled file may have holes.
    if (const int error = posix_fallocate(fd, 0, static_cast<off_t>(end)); error != 0) return error;
    end = std::min(end, prefault_bytes_);
  }
  madvise(mapping_.base + begin, end - begin, MADV_POPULATE_WRITE);  // for speed only
  return 0;
}

void NvmDevice::start(uint64_t offset, std::span<const std::byte> bytes, Sync sync, uint32_t) {
  std::byte* to = mapped(offset, bytes.size());
  platform::copy(to, bytes.data(), bytes.size());
  if (sync == Sync::kData) persist({to, bytes.size()});
}

std::byte* NvmDevice::mapped(uint64_t offset, uint64_t bytes) {
  if (offset + bytes > platform::most_mapped_bytes()) file_.fail("map more of", EFBIG);
  file_.make_room(offset + bytes);
  return mapping_.base + offset;
}

bool NvmDevice::persist(std::span<const std::byte> bytes) {
  platform::write_back(bytes.data(), bytes.size());
  platform::spin_ticks(latency_ticks_);
  return true;
}

}  // namespace logjam
