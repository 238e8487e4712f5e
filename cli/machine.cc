#include <cstdio>

#include "cli/choices.h"
#include "cli/commands.h"
#include "platform/fatal.h"
#include "platform/host.h"
#include "platform/test_value.h"
#include "sim/measure/machine_profile.h"

namespace logjam {
namespace {

const platform::TestValue repetitions("machine_repetitions");

}  // namespace

int machine_command() {
  if (platform::is_simulated()) {
    platform::refuse("`logjam machine` measures a real machine: use build/logjam");
  }
  refuse_if(platform::check_test_values());
  constexpr uint32_t kRepetitions = 9;  // of each measurement; the median counts
  const auto fewer = static_cast<uint32_t>(repetitions.get());
  std::fputs(measured_profile(fewer != 0 ? fewer : kRepetitions).c_str(), stdout);
  return 0;
}

}  // namespace logjam
