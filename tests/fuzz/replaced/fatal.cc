// Replaces platform/fatal.cc in a fuzzer's build. fatal() does not end the process: it throws an
// exception, and the fuzzer continues with the next input.
#include "platform/fatal.h"

#include "tests/fuzz/replaced/process_ended.h"

namespace logjam::platform {

void fatal(const std::string&, int exit_code) { throw fuzz::ProcessEnded{exit_code}; }

}  // namespace logjam::platform
