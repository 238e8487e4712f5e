#include "tests/style/tree.h"

#include <glog/logging.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace logjam::lint {

namespace fs = std::filesystem;

std::string root() {
  const char* given = std::getenv("LOGJAM_ROOT");
  return given == nullptr ? fs::current_path().string() : given;
}

std::set<std::string> files(const std::set<std::string>& endings) {
  const fs::path top = root();
  CHECK(fs::exists(top / "logging/log_scheme.h"))
      << top << " is not the source tree: run from its root or set LOGJAM_ROOT";
  std::set<std::string> found;
  const auto take = [&](const fs::directory_entry& entry) {
    if (entry.is_regular_file() &&
        (endings.empty() || endings.contains(entry.path().extension()))) {
      found.insert(fs::relative(entry.path(), top).string());
    }
  };
  for (const auto& entry : fs::directory_iterator(top)) take(entry);
  for (const char* room : {"platform", "sim", "engine", "cc", "logging", "workloads", "proof",
                           "cli", "scripts", "config", "docs", "results", "tests", ".ci"}) {
    if (!fs::exists(top / room)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(top / room)) take(entry);
  }
  return found;
}

std::string read_file(const std::string& path) {
  std::ifstream in(fs::path(root()) / path);
  CHECK(in) << "cannot read " << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace logjam::lint
