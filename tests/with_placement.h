// While this object lives, threads are placed as on a machine with the given hwloc description.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "platform/placement.h"

namespace logjam {

inline platform::Topology machine_of(const std::string& description) {
  const auto machine = platform::Topology::described(description);
  EXPECT_TRUE(machine) << description;
  return machine.value();
}

class WithPlacement {
 public:
  WithPlacement(const std::string& description, platform::PlacementPolicy policy,
                uint32_t workers) {
    platform::use_placement({machine_of(description), policy, workers});
  }
  ~WithPlacement() { platform::use_placement(before_); }
  WithPlacement(const WithPlacement&) = delete;
  WithPlacement& operator=(const WithPlacement&) = delete;

 private:
  const platform::Placement before_ = platform::placement();
};

}  // namespace logjam
