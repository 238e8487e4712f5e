// What a fuzzer's build has in place of the process's end.
#pragma once

namespace logjam::fuzz {

// Thrown in place of the process's end by platform::fatal() and platform::refuse().
struct ProcessEnded {
  int exit_code;
};

}  // namespace logjam::fuzz
