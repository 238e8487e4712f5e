#include "platform/host.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "platform/spin.h"

namespace logjam::platform {
namespace {

TEST(ProcessUseTest, TheKernelsPartIsThatOfSystemCalls) {
  constexpr double kEnough = 0.05;  // seconds: several ticks of a kernel that counts in ticks
  const ProcessUse begin = process_use();
  ProcessUse computed;
  while (computed.cpu_seconds < kEnough) {
    for (int i = 0; i < 10'000; ++i) pause();
    computed = process_use().since(begin);
  }
  EXPECT_LT(computed.system_seconds, computed.cpu_seconds / 2);
  const ProcessUse middle = process_use();
  ProcessUse called;
  while (called.system_seconds < kEnough / 2) {
    for (int i = 0; i < 1000; ++i) (void)getppid();
    called = process_use().since(middle);
  }
  EXPECT_LE(called.system_seconds, called.cpu_seconds);
}

}  // namespace
}  // namespace logjam::platform
