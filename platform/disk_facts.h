// Facts that the kernel knows about the disk under a directory. Any thread may call the function.
#pragma once

#include <optional>
#include <string>

#include "platform/kernel_files.h"

namespace logjam::platform {

// A fact is empty if the kernel does not know it, or if the directory is on no disk.
struct DiskFacts {
  std::string file_system, mount_options;
  std::string disk;  // the name, also of a partition's disk; "dm-0 on sda2 sdb1" if it is stacked
  std::string model, scheduler;
  std::string write_cache;  // "write back": a power cut loses bytes that are not synced
  std::optional<bool> fua;  // the disk can write one request through its cache
  std::optional<bool> rotational;
};

// Returns the facts for the file system in which `path` lies. `path` need not exist.
DiskFacts disk_facts(const KernelFiles& kernel, const std::string& path);

}  // namespace logjam::platform
