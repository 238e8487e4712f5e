// GoogleTest's main, with the program's diagnostics. A test that crashes prints a stack trace. So
// does a test that hangs, when scripts/run_tests.py aborts it.
#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include "cli/diagnostics.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  logjam::start_diagnostics(argv[0]);
  // With silo's own epochs of 40 ms, tests of all schemes would spend most of their time in waits.
  gflags::SetCommandLineOptionWithMode("silo_epoch_ms", "1", gflags::SET_FLAGS_DEFAULT);
  return RUN_ALL_TESTS();
}
