// The small scales of proof/small_scales.txt, which load in milliseconds. Tests may set more flags.
#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/workloads/harness.h"

namespace logjam {

// Returns the workload's small scale, and after it a scale for each further mix of the workload's
// transactions. Returns no scale for a workload without a line in the file.
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

// Returns the workload's small scale with the default transactions, or throws if there is none.
inline Flags small_scale(std::string_view workload) { return small_scales(workload).at(0); }

// Calls check(info) with the flags of each small scale of each workload.
template <class Check>
void for_each_small_scale(const Check& check) {
  for (const WorkloadInfo& info : all_workloads()) {
    const auto scales = small_scales(info.name);
    ASSERT_FALSE(scales.empty()) << info.name << " needs a line in proof/small_scales.txt";
    for (const Flags& flags : scales) {
      const gflags::FlagSaver saver;
      for (const auto& [name, value] : flags) {
        ASSERT_FALSE(gflags::SetCommandLineOption(name.c_str(), value.c_str()).empty()) << name;
      }
      SCOPED_TRACE(std::string(info.name) + " --" + flags.back().first + "=" + flags.back().second);
      check(info);
    }
  }
}

}  // namespace logjam
