// The flags that several schemes read. Any thread may call any function.
#pragma once

#include <cstdint>
#include <string>

namespace logjam {

// Returns whether schemes acknowledge as their papers do, where that is unsafe (--ack=unsafe).
bool acknowledges_unsafely();
std::string check_ack_flag();   // for SchemeInfo::check_flags
std::string unsafe_ack_flag();  // for SchemeInfo::unsafe

// Returns the number of commits that a worker flushes together, in the two schemes of P-WAL's
// paper: --pwal_ngroup, or 16 (the paper's number) if the flag is 0.
uint64_t pwal_ngroup();

uint64_t poplar_segment_bytes();
std::string check_segment_flag();  // for SchemeInfo::check_flags

// Returns --aether_slots: the number of slots of each consolidation array.
uint32_t aether_slots();
// Returns the value of --test=aether_force:n: every n-th insert of a worker joins a group even if
// the lock is free, so that tests see groups. 0 forces no insert.
uint32_t aether_force();
std::string check_aether_flags();  // for SchemeInfo::check_flags

}  // namespace logjam
