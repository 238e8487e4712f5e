// The exception that takes the place of the end of the process in a build for a fuzzer.
#pragma once

namespace logjam::fuzz {

// Thrown in place of the process's end by platform::fatal().
struct ProcessEnded {
  int exit_code;
};

}  // namespace logjam::fuzz
