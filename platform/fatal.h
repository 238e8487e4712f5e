// The two ways to end a command with one sentence. refuse() and fail() throw a CommandError, and
// cli/ ends the process (cli/diagnostics.h). fatal() ends the process itself, where nothing may be
// acknowledged any more (R7), or where a log thread has no caller that could catch an error.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "platform/assert.h"

namespace logjam::platform {

inline constexpr int kExitBadInput = 2;   // a flag, a file or a combination cannot be used
inline constexpr int kExitFailed = 3;     // the machine failed: a write, a sync, memory
inline constexpr int kExitViolation = 4;  // a check failed: lost, torn or inconsistent data

// The sentence that ends the command, and the exit code of the process.
class CommandError : public std::runtime_error {
 public:
  CommandError(const std::string& sentence, int exit_code)
      : std::runtime_error(sentence), exit_code_(exit_code) {
    LJ_ASSERT(!sentence.empty() && exit_code != 0);
  }

  int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

// Throws a CommandError with kExitBadInput: for bad input that is found before anything is loaded.
[[noreturn]] inline void refuse(const std::string& sentence) {
  throw CommandError(sentence, kExitBadInput);
}
// Throws a CommandError with kExitFailed: the machine failed before transactions run.
[[noreturn]] inline void fail(const std::string& sentence) {
  throw CommandError(sentence, kExitFailed);
}

// Prints "logjam: <sentence>" on stderr and exits at once with `exit_code`. No destructor runs,
// because other threads may still be inside the engine. Any thread may call it.
[[noreturn]] void fatal(const std::string& sentence, int exit_code = kExitFailed);

// Runs `undo` when it is destroyed, so that a refused command changes nothing. After forget(), it
// does not run `undo`.
class Undo {
 public:
  explicit Undo(std::function<void()> undo) : undo_(std::move(undo)) {}
  ~Undo() {
    if (undo_ != nullptr) undo_();
  }
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;

  void forget() { undo_ = nullptr; }

 private:
  std::function<void()> undo_;
};

}  // namespace logjam::platform
