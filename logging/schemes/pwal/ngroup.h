// --pwal_ngroup: the size of a group of commits, for the two schemes of P-WAL's paper.
#pragma once

#include <cstdint>

namespace logjam {

// Returns how many commits a worker flushes together: --pwal_ngroup, or the paper's 16 if the flag
// is 0. Any thread may call it.
uint64_t pwal_ngroup();

}  // namespace logjam
