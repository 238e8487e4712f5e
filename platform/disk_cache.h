// The cache of a disk, as the kernel describes it.
#pragma once

#include <string>

#include "platform/kernel_files.h"

namespace logjam::platform {

// Returns whether a direct write into durable blocks of a file in `directory` is durable when it
// ends, without a sync. Then the disk says that it has no volatile cache, and the file system, ext4
// or xfs, writes in place. Asks about the nearest directory above if there is none of that name.
// Any thread may call it.
bool writes_through(const std::string& directory, const KernelFiles& kernel = {});

}  // namespace logjam::platform
