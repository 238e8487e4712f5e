// The exception that replaces the end of the process in a fuzzer's build.
#pragma once

namespace logjam::fuzz {

struct ProcessEnded {
  int exit_code;
};

}  // namespace logjam::fuzz
