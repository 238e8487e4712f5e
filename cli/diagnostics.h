// Diagnostics: glog, as the program and its tests want it.
#pragma once

namespace logjam {

// For main(), before the flags are parsed and before any thread starts. From then on LOG and VLOG
// write to stderr unless flags say otherwise, and a deadly signal or a failed CHECK prints a stack
// trace. `program` is argv[0], and must stay valid.
void start_diagnostics(const char* program);

}  // namespace logjam
