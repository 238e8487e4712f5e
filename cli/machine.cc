#include <gflags/gflags.h>

#include <cstdio>
#include <fstream>

#include "cli/commands.h"
#include "platform/fatal.h"
#include "platform/host.h"
#include "sim/measure/machine_profile.h"

DEFINE_string(out, "-", "machine: the file that the profile is written to; - is stdout");
DEFINE_uint32(repetitions, 9, "machine: how often each cost is measured; the median counts");

namespace logjam {

int machine_command() {
  if (platform::is_simulated()) {
    platform::refuse("a simulated machine is not measured; build/logjam measures the one it is on");
  }
  if (FLAGS_repetitions == 0) platform::refuse("--repetitions is at least 1");
  if (FLAGS_out == "-") {
    std::fputs(measured_profile(FLAGS_repetitions).c_str(), stdout);
    return 0;
  }
  // The file is opened first: a wrong name should not cost the time of measuring. What it held
  // stays until there is something new.
  std::ofstream file(FLAGS_out, std::ios::app);
  if (!file) platform::refuse("--out: cannot write \"" + FLAGS_out + "\"");
  const std::string profile = measured_profile(FLAGS_repetitions);
  file.close();
  file.open(FLAGS_out, std::ios::trunc);
  file << profile << std::flush;
  if (!file) platform::fatal("cannot write \"" + FLAGS_out + "\"");
  return 0;
}

}  // namespace logjam
