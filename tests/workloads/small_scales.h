// The small scales of proof/small_scales.txt: configurations that load in milliseconds. A test sets
// other flags itself if its expectations need them.
#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/workloads/harness.h"

namespace logjam {

// Returns the workload's small scale first, then one scale for each other kind of its transactions.
// Returns nothing for a workload without a line in the file.
inline std::vector<Flags> small_scales(std::string_view workload) {
  const char* root = std::getenv("LOGJAM_ROOT");
  std::ifstream file(std::string(root == nullptr ? "." : root) + "/proof/small_scales.txt");
  std::vector<Flags> scales;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word != workload) continue;
    Flags& flags = scales.emplace_back();
    while (words >> word) {
      const size_t equals = word.find('=');
      flags.emplace_back(word.substr(2, equals - 2), word.substr(equals + 1));
    }
  }
  return scales;
}

// Returns the workload's default transactions on few rows. Throws if it has no small scale.
inline Flags small_scale(std::string_view workload) { return small_scales(workload).at(0); }

}  // namespace logjam
