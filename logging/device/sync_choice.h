// The sync method of a log directory, if --sync=auto leaves the choice to the log.
//
// Disks differ: one disk does more syncs per second by RWF_DSYNC, another disk by fdatasync(). So
// the first log on a directory times both methods. The directory remembers the faster method in the
// file `sync-method`. fsync() is not tried: it does all that fdatasync() does, and more.
//
// Other programs may write into the directory. A line of the file that this class never writes
// causes a new measurement, so no line can choose an unsafe method. The caller holds the directory.
#pragma once

#include <string>

#include "logging/device/device.h"

namespace logjam {

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
