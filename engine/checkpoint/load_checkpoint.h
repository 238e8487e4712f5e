// Loads checkpoints.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/storage/database.h"
#include "logging/format/checkpoint.h"

namespace logjam {

struct LoadResult {
  std::string error;     // one sentence, or empty; after an error the database cannot be used
  bool corrupt = false;  // the files could be read, but are not as they were written
  uint64_t rows = 0, tombstones = 0, bytes = 0;
  double seconds = 0;
};

// Creates the tuples of `checkpoint`, with their versions, and their postings in the secondary
// indexes. Each file has a thread of its own (Poplar, section 5), because fewer threads than
// directories would leave a device idle. Reads at most `read_bytes_per_second` from each of
// `directories`; 0: no limit. The tables of `database` are empty, and no other thread uses them.
LoadResult load_checkpoint(Database& database, const std::vector<std::string>& directories,
                           const Checkpoint& checkpoint, double read_bytes_per_second = 0);

}  // namespace logjam
