#include "cli/diagnostics.h"

#include <fcntl.h>
#include <gflags/gflags.h>
#include <glog/logging.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "platform/fatal.h"

namespace logjam {
namespace {

// Ends the program after an uncaught exception. (No caller can catch an exception of a oneTBB
// thread.) Prints a sentence if the machine refused memory, a thread or a file, and otherwise calls
// abort().
void explain_exception() {
  const auto no_thread = [](const std::string& why) {
    platform::fatal("cannot start a thread: " + why +
                    "; see ulimit -u, and pids.max of the cgroup");
  };
  try {
    if (std::current_exception() != nullptr) throw;
  } catch (const platform::CommandError& error) {
    platform::fatal(error.what(), error.exit_code());
  } catch (const std::bad_alloc&) {
    platform::fatal("cannot allocate memory; see ulimit -v, and the memory limit of the cgroup");
  } catch (const std::filesystem::filesystem_error& error) {
    platform::fatal(error.what());
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again)
      no_thread(error.code().message());
  } catch (const std::runtime_error& error) {
    constexpr std::string_view kOfTbb = "pthread_create has failed: ";
    const std::string_view what = error.what();
    if (what.starts_with(kOfTbb)) no_thread(std::string(what.substr(kOfTbb.size())));
  } catch (...) {
  }
  std::abort();
}

// Opens /dev/null for each of stdin, stdout and stderr that is closed, so that no log file gets the
// descriptor of stdout. The open mode makes reads from stdin and writes to stdout fail.
void hold_standard_files() {
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(file, F_GETFD) >= 0) continue;
    if (open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY) != file) std::abort();
  }
}

}  // namespace

void start_diagnostics(const char* program) {
  hold_standard_files();
  // If SIGPIPE is ignored, a write to a pipe that no process reads returns an error.
  std::signal(SIGPIPE, SIG_IGN);
  // glog converts the time of each log line to local time. If the variable TZ is not set, glibc
  // reads the time zone's file for each log line, under a lock that ThreadSanitizer cannot see.
  setenv("TZ", ":/etc/localtime", 0);
  // Changes the flag's default and not its value, because a CSV row lists each flag that was set.
  gflags::SetCommandLineOptionWithMode("logtostderr", "true", gflags::SET_FLAGS_DEFAULT);
  google::InitGoogleLogging(program);
  google::InstallFailureSignalHandler();
  std::set_terminate(explain_exception);
  std::signal(SIGTERM, SIG_DFL);  // no stack trace: a request to end is no failure
}

}  // namespace logjam
