// An LSN by fetch-add, with filled bytes counted per I/O unit: the log of `centr-faa` and of
// `command`, which differ in what the records hold.
#pragma once

#include "logging/schemes/common/fetch_add_scheme.h"
#include "logging/schemes/common/unit_counts.h"
#include "logging/stream/io_unit.h"

namespace logjam {

class UnitCountScheme final : public FetchAddScheme<UnitCounts> {
 public:
  explicit UnitCountScheme(const LogConfig& config)
      : FetchAddScheme(config, Stream::kMaxWriteBytes, io_unit_bytes()) {}
};

}  // namespace logjam
