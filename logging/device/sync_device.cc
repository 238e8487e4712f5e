// `sync`: synced writes through the page cache, in the caller's thread, on every file system.
#include "logging/device/device_file.h"
#include "logging/device/device_registry.h"
#include "platform/test_value.h"

namespace logjam {
namespace {

// Makes the device sync nothing if this is 1. So tests can show that they notice lost writes.
const platform::TestValue skips_syncs("device_skips_syncs");

class SyncDevice final : public Device {
 public:
  explicit SyncDevice(const DeviceOptions& options)
      : file_(with_usable_sync(options), 0), syncs_(skips_syncs.get() == 0) {}

  uint32_t block_bytes() const override { return 1; }
  void start(uint64_t offset, std::span<const std::byte> bytes, Sync sync, uint32_t) override {
    file_.make_room(offset + bytes.size());
    file_.write(offset, bytes, syncs_ ? sync : Sync::kNone);
  }
  bool finished(uint32_t) override { return true; }
  void release(uint64_t before) override { file_.release(before); }
  uint32_t threads() const override { return file_.threads(); }
  void wait(uint64_t) override {}
  bool start_blocks() const override { return true; }
  std::string_view io() const override { return "pwrite"; }

 private:
  DeviceFile file_;
  const bool syncs_;
};

const DeviceRegistration sync_device({
    .name = "sync",
    .parameters = "",
    .what = "synced writes through the page cache",
    .traits = {.has_segments = true, .at_once = true, .needs_disk = true, .has_sync_methods = true},
    .open = open_plain<SyncDevice>,
});

}  // namespace
}  // namespace logjam
