// Ending the process with one sentence that says why.
#pragma once

#include <functional>
#include <string>

namespace logjam::platform {

inline constexpr int kExitBadInput = 2;   // a flag, a file or a combination cannot be used
inline constexpr int kExitFailed = 3;     // the machine failed: a write, a sync, memory
inline constexpr int kExitViolation = 4;  // a check failed: lost, torn or inconsistent data

// Prints "logjam: <sentence>" on stderr and exits at once with `exit_code`. No destructor runs:
// other threads may still be inside the engine, and nothing may be acknowledged after a failed
// sync. Any thread may call it.
[[noreturn]] void fatal(const std::string& sentence, int exit_code = kExitFailed);
// Ends the process as fatal() does, with kExitBadInput: for bad input that is found before anything
// is loaded. The RefusalUndos run first.
[[noreturn]] void refuse(const std::string& sentence);

// While this object lives (or until forget()), refuse() runs `undo` before it exits, newest first,
// so that a refused command changes nothing. Create it on the thread that may refuse.
class RefusalUndo {
 public:
  explicit RefusalUndo(std::function<void()> undo);
  ~RefusalUndo() { forget(); }
  RefusalUndo(const RefusalUndo&) = delete;
  RefusalUndo& operator=(const RefusalUndo&) = delete;

  void forget();
};

}  // namespace logjam::platform
