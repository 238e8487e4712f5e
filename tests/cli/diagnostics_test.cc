// The messages about an uncaught exception. tests/main.cc starts the diagnostics.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace logjam {
namespace {

template <class Exception>
void throws(const Exception& exception) {
  std::thread([&] { throw exception; }).join();
}

TEST(DiagnosticsDeathTest, AMachineThatFailsEndsTheProgramWithASentence) {
  const auto failed = testing::ExitedWithCode(3);
  const std::error_code again = std::make_error_code(std::errc::resource_unavailable_try_again);
  const char* const thread =
      "logjam: cannot start a thread: Resource temporarily unavailable; see ulimit -u, and "
      "pids.max of the cgroup\n";
  EXPECT_EXIT(throws(std::system_error(again)), failed, thread);
  EXPECT_EXIT(throws(std::runtime_error("pthread_create has failed: Resource temporarily "
                                        "unavailable")),
              failed, thread);
  EXPECT_EXIT(throws(std::bad_alloc()), failed, "logjam: cannot allocate memory; see ulimit -v");
  EXPECT_EXIT(throws(std::filesystem::filesystem_error("cannot list", again)), failed,
              "logjam: filesystem error: cannot list");
  EXPECT_EXIT(throws(std::runtime_error("a fault")), testing::KilledBySignal(SIGABRT), "");
}

}  // namespace
}  // namespace logjam
