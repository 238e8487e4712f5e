// The end of the process, with one sentence.
#pragma once

#include <string>

namespace logjam::platform {

inline constexpr int kExitBadInput = 2;   // a flag, a file, a combination that cannot be used
inline constexpr int kExitFailed = 3;     // the machine failed us: a write, a sync, memory
inline constexpr int kExitViolation = 4;  // a check failed: lost, torn or inconsistent data

// Prints "logjam: <sentence>" on stderr and leaves at once, without running destructors: other
// threads may still be inside the engine, and after a failed sync nothing more may be acknowledged.
[[noreturn]] void fatal(const std::string& sentence, int exit_code = kExitFailed);
// For bad input, before anything is loaded.
[[noreturn]] void refuse(const std::string& sentence);

}  // namespace logjam::platform
