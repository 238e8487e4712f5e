// `nvm[:NS]`: a mapped file that is written with stores. The bytes become durable by cache-line
// write-back, a store fence, and NS nanoseconds of waiting that stand for the medium.
//
// On a file system with DAX (the kernel grants MAP_SYNC) this is persistent memory and survives a
// power cut. On any other file it is an emulation, as in the papers (Poplar 6.1: DRAM and a busy
// loop): a killed process loses no byte, even if it was not written back, but a power cut may lose
// any byte. A tmpfs emulates best: on a disk's file system, the kernel write-protects pages now and
// then to write them out, so stores are slower.
//
// The whole range of addresses that the log may grow into is mapped at once. DeviceFile's grower
// writes zeros ahead of the log, so that every page has blocks before the log uses it. So a full
// disk gives the grower an errno and not the process a SIGBUS. The grower also faults the pages in
// for the workers. platform::files() must return descriptors of the kernel, because no others can
// be mapped. (In the simulated build, a disk in memory can be mapped, too.)
//
// Protocol. Memory is handed out after make_room() (acquire). A thread owns the part that it gets.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "logging/device/device_file.h"
#include "logging/device/device_registry.h"
#include "platform/clock.h"
#include "platform/copy.h"
#include "platform/fatal.h"
#include "platform/files.h"
#include "platform/memory.h"
#include "platform/persist.h"

namespace logjam {
namespace {

constexpr uint64_t kLeastBytes = uint64_t{1} << 20;  // not 0: the file must always grow

// Handles SIGBUS: another process has cut the file short, or the memory is bad.
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

class NvmDevice final : public Device, private PersistentMemory {
 public:
  NvmDevice(const DeviceOptions& options, double latency_ns);

  // Records are multiples of 8 bytes, so no byte is written twice.
  uint32_t block_bytes() const override { return 8; }
  void start(uint64_t offset, std::span<const std::byte> bytes, Sync sync,
             uint32_t slot = 0) override;
  bool finished(uint32_t = 0) override { return true; }
  void wait(uint64_t) override {}
  void release(uint64_t before) override { file_.release(before); }
  uint32_t threads() const override { return file_.threads(); }
  // Returns false although start() blocks, because a write takes less time than waking a thread.
  bool start_blocks() const override { return false; }
  PersistentMemory* memory() override { return this; }

 private:
  std::byte* mapped(uint64_t offset, uint64_t bytes) override;
  bool persist(std::span<const std::byte> bytes) override;

  struct Mapping {
    ~Mapping();
    std::byte* base = nullptr;
  };
  int grown(int fd, uint64_t begin, uint64_t end);

  const uint64_t latency_ticks_;
  const uint64_t prefault_bytes_;  // bytes of a recycled file to fault in at the start
  Mapping mapping_;                // outlives the grower
  DeviceFile file_;                // calls grown()
};

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
    if (const int error = platform::files().allocate(fd, end); error != 0) return error;
    end = std::min(end, prefault_bytes_);
  }
  madvise(mapping_.base + begin, end - begin, MADV_POPULATE_WRITE);  // for speed only
  return 0;
}

void NvmDevice::start(uint64_t offset, std::span<const std::byte> bytes, Sync sync, uint32_t) {
  assert_in_blocks(offset, bytes);
  std::byte* to = mapped(offset, bytes.size());
  if (to != bytes.data()) platform::copy(to, bytes.data(), bytes.size());
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

bool parse(std::string_view given, double* latency_ns) {
  return given.empty() || (take_number(&given, latency_ns) && given.empty());
}

const DeviceRegistration nvm({
    .name = "nvm",
    .parameters = "[:NS]",
    .what =
        "mapped memory, cache-line write-back, a fence and NS ns: persistent on a DAX directory; "
        "elsewhere (best: tmpfs) an emulation that survives a killed process, not a power cut",
    .traits = {.is_memory = true, .at_once = true},
    .accepts =
        [](std::string_view given) {
          double latency_ns = 0;
          return parse(given, &latency_ns);
        },
    .open = [](std::string_view given, const DeviceOptions& options) -> std::unique_ptr<Device> {
      double latency_ns = 0;
      parse(given, &latency_ns);
      return std::make_unique<NvmDevice>(options, latency_ns);
    },
});

}  // namespace
}  // namespace logjam
