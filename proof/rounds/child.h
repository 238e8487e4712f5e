// A child process of a crash test: a run of the binary, which the test kills, or a recovery.
#pragma once

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "platform/clock.h"

namespace logjam {

inline constexpr uint64_t kPatienceMs = 120'000;  // only a hang takes longer, even under sanitizers

// Returns the binary under test, from the environment variable LOGJAM (default: build/logjam).
inline std::string binary_under_test() {
  const char* path = std::getenv("LOGJAM");
  return std::filesystem::absolute(path == nullptr ? "build/logjam" : path);
}

inline std::string last_lines(const std::string& path, size_t bytes = 3000) {
  std::ifstream in(path, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), {}};
  return all.size() <= bytes ? all : "..." + all.substr(all.size() - bytes);
}

// A child process with its output in a file. The child is killed if the test ends first.
class Child {
 public:
  Child(const std::vector<std::string>& command, const std::string& output) {
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int fd = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  ~Child() {
    if (!ended(0)) kill();
  }

  // Waits `within_ms` at most. Returns whether the child has ended.
  bool ended(uint64_t within_ms) {
    const uint64_t deadline = platform::now_ns() + within_ms * 1'000'000;
    while (!reaped_ && waitpid(pid_, &status_, WNOHANG) != pid_) {
      if (platform::now_ns() >= deadline) return false;
      platform::sleep_ns(1'000'000);
    }
    reaped_ = true;
    return true;
  }
  void kill() {
    ::kill(pid_, SIGKILL);
    while (!reaped_) reaped_ = waitpid(pid_, &status_, 0) == pid_;
  }
  bool exited_well() const { return WIFEXITED(status_) && WEXITSTATUS(status_) == 0; }
  bool was_killed() const { return WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL; }
  std::string how() const {
    return WIFEXITED(status_) ? "exit status " + std::to_string(WEXITSTATUS(status_))
                              : "signal " + std::to_string(WTERMSIG(status_));
  }

 private:
  pid_t pid_;
  int status_ = 0;
  bool reaped_ = false;
};

}  // namespace logjam
