// The files of the source tree, for tests about all of them.
#pragma once

#include <set>
#include <string>

namespace logjam::lint {

// Returns the root of the source tree: $LOGJAM_ROOT, or the current directory.
std::string root();

// Returns the paths, relative to the root, of the rooms' and documents' files with one of these
// endings (".cc"), and of the files at the root that have one; without endings, of all. Ends the
// process if the root is no source tree.
std::set<std::string> files(const std::set<std::string>& endings);

// Returns the text of a file. `path` is relative to the root. Ends the process if it cannot be
// read.
std::string read_file(const std::string& path);

}  // namespace logjam::lint
