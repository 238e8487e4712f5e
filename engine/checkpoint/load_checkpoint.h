// Loads a checkpoint into an empty database.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/checkpoint/checkpoint.h"
#include "engine/storage/database.h"

namespace logjam {

struct LoadResult {
  std::string error;  // one sentence; if it is not empty the database must be thrown away
  uint64_t rows = 0, tombstones = 0, bytes = 0;
  double seconds = 0;
};

// Creates the tuples of `checkpoint`, with their versions, and their postings in the secondary
// indexes. Each file has a thread of its own (Poplar, section 5): fewer threads than directories
// would leave a device idle. Each of `directories` gives at most `read_bytes_per_second`; 0: as
// fast as it can. The tables of `database` are created and empty; no other thread may use it
// meanwhile.
LoadResult load_checkpoint(Database& database, const std::vector<std::string>& directories,
                           const Checkpoint& checkpoint, double read_bytes_per_second = 0);

}  // namespace logjam
