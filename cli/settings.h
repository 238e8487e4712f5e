// The settings of `logjam run`. The whole command line is checked before anything is loaded.
#pragma once

#include <string>
#include <vector>

#include "cli/choices.h"
#include "cli/flags.h"
#include "cli/log_settings.h"

namespace logjam {

struct Settings {
  const WorkloadInfo* workload = nullptr;
  const ProtocolInfo* protocol = nullptr;
  const SchemeInfo* scheme = nullptr;
  RunOptions run;
  LogOptions log;
  platform::WorkerClass::Request worker_class;
  std::string unsafe;  // R8: why acknowledged transactions may be lost; empty if they cannot
  std::string without_effect;         // given flags that change nothing
  std::vector<std::string> cautions;  // known when the run has ended
};

// Returns the settings of `logjam run`. Ends the process with one sentence and kExitBadInput if
// values or combinations cannot be used. The main thread calls it.
Settings run_settings();

}  // namespace logjam
