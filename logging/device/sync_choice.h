// The sync method of a log directory, if --sync=auto leaves the choice to the log.
//
// Disks differ: one disk does more syncs per second by RWF_DSYNC, another disk by fdatasync(). So
// the first log on a directory times both methods. The directory remembers the faster method in the
// file `sync-method`. fsync() is not tried: it does all that fdatasync() does, and more.
//
// Other programs may write into the directory. A line of the file that this class never writes
// causes a new measurement, so no line can choose an unsafe method. The caller holds the directory.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#include "logging/device/device.h"

namespace logjam {

// Finds the faster one of two methods, each of which writes once in a round.
class SyncContest {
 public:
  void add_round(uint64_t dsync_ticks, uint64_t fdatasync_ticks) {
    ++rounds_;
    if (dsync_ticks != fdatasync_ticks) lead_ += dsync_ticks < fdatasync_ticks ? 1 : -1;
  }
  // Returns whether one method was faster in 16 rounds more than the other method. If both are
  // equally fast, the first 16 rounds say so once in 32 768 times.
  bool is_clear() const { return std::abs(lead_) >= 16; }
  SyncMethod faster() const { return lead_ >= 0 ? SyncMethod::kDsync : SyncMethod::kFdatasync; }
  int rounds() const { return rounds_; }

 private:
  int rounds_ = 0;
  int lead_ = 0;  // rounds in which dsync was faster, less those in which fdatasync was
};

class SyncChoice {
 public:
  // Chooses the method for `device`, a spec with DeviceTraits::has_sync_methods, in `directory`. If
  // the directory remembers none, measures for at most about 0.3 s. Leaves no file. Refuses if the
  // device cannot be used there.
  SyncChoice(const std::string& device, const std::string& directory);

  SyncMethod method() const { return method_; }
  // Remembers a measured method in the directory. A crash leaves the earlier file or the new one.
  // Warns if the directory cannot be written.
  void remember() const;

 private:
  bool read();
  void measure();

  const std::string device_;  // without the devices that wrap it
  const std::string directory_;
  std::string others_;  // the lines of the file about other devices
  SyncMethod method_ = SyncMethod::kDsync;
  bool measured_ = false;
};

}  // namespace logjam
