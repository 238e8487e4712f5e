// An LSN by fetch-add, with filled bytes counted per I/O unit: the log of `centr-faa` and of
// `command`, which differ in what the records hold.
#pragma once

#include "logging/schemes/common/fetch_add_scheme.h"
#include "logging/schemes/common/unit_counts.h"

namespace logjam {

class UnitCountScheme final : public FetchAddScheme<UnitCounts> {
  static constexpr uint64_t kUnitBytes = uint64_t{64} << 10;

 public:
  explicit UnitCountScheme(const LogConfig& config) : FetchAddScheme(config, kUnitBytes) {}
};

}  // namespace logjam
