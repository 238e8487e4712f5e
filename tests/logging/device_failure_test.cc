// If a device fails or cannot be opened, the process prints one sentence and ends as in R7.
#include <sys/resource.h>

#include "logging/device/device_registry.h"
#include "logging/device/faulty_device.h"
#include "tests/command_error.h"
#include "tests/logging/log_fixture.h"

namespace logjam {
namespace {

// R7 holds for a flush by a worker and for a flush by the daemon. The message has the file and the
// reason.
TEST(FailureDeathTest, AFailedWriteEndsTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const int error : {EIO, ENOSPC}) {
    for (const bool help : {true, false}) {
      LogDirectory directory;
      LogOptions options = log_options(*find_scheme("centr"), directory, "faulty:sync", 1);
      options.config.flush_help = help;
      EXPECT_EXIT(
          {
            Log log(options);
            log.start();
            for (Device* one : log.devices()) {
              dynamic_cast<FaultyDevice&>(*one).fail_next_write(error);
            }
            const Published one = publish_record(log, 0, 1, 64);
            log.scheme().wait_durable(0, one.point);
            std::_Exit(0);  // the commit is acknowledged
          },
          testing::ExitedWithCode(3),
          "cannot write the log file .*stream-0.log.db: .*nothing is acknowledged after this");
    }
  }
}

void limit_file_size(uint64_t bytes) {
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_FSIZE, &limit);
}

TEST(FailureDeathTest, APreallocationThatDoesNotFitIsRefused) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const char* device : {"file", "sync", "nvm"}) {
    LogDirectory directory;
    LogOptions options = log_options(*find_scheme("centr"), directory, device, 1);
    options.preallocate_bytes = uint64_t{64} << 20;
    EXPECT_EXIT(as_main([&] {
                  limit_file_size(uint64_t{3} << 20);
                  const Log log(options);
                }),
                testing::ExitedWithCode(2),
                "cannot preallocate 64 MiB for the log file .*: File too large");
  }
}

TEST(FailureDeathTest, ADiskThatFillsUpDuringTheRunEndsTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const char* device : {"file", "sync", "sim:10", "nvm"}) {
    for (const uint64_t preallocate : {uint64_t{0}, uint64_t{1} << 20}) {
      // The limit holds for each file. A segment file is shorter than the limit, so its writes do
      // not fail. segments_test.cc tests a segment that cannot be made.
      if (device_traits(device).has_segments && preallocate != 0) continue;
      LogDirectory directory;
      LogOptions options = log_options(*find_scheme("centr"), directory, device, 1);
      options.preallocate_bytes = preallocate;
      EXPECT_EXIT(
          {
            limit_file_size(uint64_t{3} << 20);
            Log log(options);
            log.start();
            for (uint64_t i = 0;; ++i) {
              log.scheme().wait_durable(0, publish_record(log, 0, i, 100'000).point);
            }
          },
          testing::ExitedWithCode(3), "cannot .* the log file .*stream-0.log.db: File too large");
    }
  }
}

TEST(FailureDeathTest, DirectoriesThatCannotBeUsedAreRefused) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  LogDirectory directory;
  LogOptions options = log_options(*find_scheme("centr"), directory, "sync", 1);
  options.directories = {"/proc/no/such/place"};
  EXPECT_REFUSED(const Log log(options), "cannot create the log directory");
  options.directories = {directory.path(), directory.path() + "/."};
  EXPECT_REFUSED(const Log log(options), "are the same log directory");
  SchemeInfo in_place = *options.scheme;
  in_place.traits.in_place = true;
  options.scheme = &in_place;
  options.device = "nvm";
  options.directories = {directory.path(), directory.path() + "/b"};
  EXPECT_REFUSED(const Log log(options),
                 "writes 1 stream\\(s\\), not striped: name no more log directories than that");
  options.directories = {directory.path()};
  const Log first(options);
  EXPECT_REFUSED(const Log second(options), "in use by another process");
}

}  // namespace
}  // namespace logjam
