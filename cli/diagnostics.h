// Diagnostics: how the program and its tests set up glog.
#pragma once

#include <string>

namespace logjam {

// Starts glog: LOG and VLOG write to stderr unless flags say otherwise, and a deadly signal or a
// failed CHECK prints a stack trace. Call it before flags are parsed and before any thread starts.
// `program` is argv[0], and must stay valid.
void start_diagnostics(const char* program);

// Returns the git revision, with "-dirty" at its end if the tree had uncommitted changes, or
// "-archive" if the sources are those of `git archive`.
std::string revision();

// Returns the version of CITATION.cff.
std::string version();

}  // namespace logjam
