// GoogleTest's main, with the program's diagnostics: a test that dies leaves a stack trace, and so
// does one that hangs and is aborted by scripts/run_tests.py.
#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include "cli/diagnostics.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  logjam::start_diagnostics(argv[0]);
  // Tests of every scheme wait for epochs to end: silo's 40 ms would be most of their time.
  gflags::SetCommandLineOptionWithMode("silo_epoch_ms", "1", gflags::SET_FLAGS_DEFAULT);
  return RUN_ALL_TESTS();
}
