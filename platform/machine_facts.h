// Facts about this machine that change a measurement and that no flag sets. Any thread may call the
// function.
#pragma once

#include <string>

#include "platform/kernel_files.h"

namespace logjam::platform {

// In the kernel's own words. A fact is empty if the kernel does not tell it.
struct MachineFacts {
  std::string sockets;   // how many
  std::string governor;  // of the first processor's frequency
  std::string smt;       // whether siblings of a core are used: "on", "off", "notsupported", ...
};

MachineFacts machine_facts(const KernelFiles& kernel);

}  // namespace logjam::platform
